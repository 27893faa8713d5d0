--- Optimas in Neovim: starts the server, lists hotspots in the quickfix list, shows heat in the sign column.
---
--- :Optimas asks for rewrites and deals with them (optimas/jobs.lua), and shows machine code (optimas/sass.lua).
---
---   require('optimas').setup()                      -- needs `optimas-lsp` on PATH
---   require('optimas').setup({ cmd = { '/path/to/venv/bin/optimas-lsp' }, heat = false })
---
--- Works on Neovim 0.11 (vim.lsp.config) and, with less (no inlay hints), down to 0.7.
local M = {}

local jobs = require('optimas.jobs')
local sass = require('optimas.sass')

local HOTSPOTS = 'optimas.hotspots'
local GROUP = 'optimas_heat'

---From this share of the report's GPU time on (0 to 1) a line has heat 1, 2, … 5. The bar says it without colour too.
local STEPS = {
  { 0.005, '▁', { fg = '#b8a04a', ctermfg = 143 } },
  { 0.02, '▃', { fg = '#d8a532', ctermfg = 178 } },
  { 0.05, '▄', { fg = '#e08a2b', ctermfg = 172 } },
  { 0.10, '▆', { fg = '#e0602a', ctermfg = 166 } },
  { 0.25, '█', { fg = '#e33c3c', ctermfg = 160 } },
}

---Every option with its default.
M.options = {
  cmd = { 'optimas-lsp' },
  filetypes = { 'cuda', 'c', 'cpp', 'python' },
  ---Settings of the server as in docs/settings.md, e.g. { hotKernels = { maximum = 5 } }.
  settings = {},
  ---Heat in the sign column; :OptimasHeat switches it.
  heat = true,
  ---Text at line ends, where this Neovim can show it.
  inlay_hints = true,
  code_lens = true,
}

local heat_by_uri = {}

local function clients(bufnr)
  if vim.lsp.get_clients then
    return vim.lsp.get_clients({ name = 'optimas', bufnr = bufnr })
  end
  local found = {}
  for _, client in pairs(bufnr and vim.lsp.buf_get_clients(bufnr) or vim.lsp.get_active_clients()) do
    if client.name == 'optimas' then
      table.insert(found, client)
    end
  end
  return found
end

local function request(client, method, params, handler)
  if vim.fn.has('nvim-0.11') == 1 then
    return client:request(method, params, handler)
  end
  return client.request(method, params, handler)
end

---Runs a command of the server and calls `with`, if any, with the answer; calls `failed` with why when it cannot, or says it.
local function execute(command, arguments, with, failed)
  local client = clients()[1]
  if not client then
    vim.notify('Optimas is not running: open a CUDA or Triton file first', vim.log.levels.WARN)
    return
  end
  request(client, 'workspace/executeCommand', { command = command, arguments = arguments }, function(problem, answer)
    if problem and failed then
      failed(problem.message or vim.inspect(problem))
    elseif problem then
      vim.notify('Optimas: ' .. (problem.message or vim.inspect(problem)), vim.log.levels.ERROR)
    elseif with and answer and answer ~= vim.NIL then
      with(answer)
    end
  end)
end

jobs.execute = execute
sass.execute = execute

---Asks what is hot and calls `with` with the answer (schema optimas.hotspots/1).
local function ask(with)
  execute(HOTSPOTS, {}, with)
end

local function value(something)
  if something == vim.NIL then
    return nil
  end
  return something
end

local function percent(share)
  local number = share * 100
  return string.format(number < 9.95 and '%.1f %%' or '%.0f %%', number)
end

---Findings of the shown reports as quickfix items: what is worth changing first, then the rest, each by cost.
---@param answer table optimas.hotspots/1
---@return table[]
function M.items(answer)
  local items = {}
  for _, report in ipairs(answer.reports) do
    for _, kernel in ipairs(report.shown and report.kernels or {}) do
      for _, finding in ipairs(kernel.findings) do
        local place = value(finding.place)
        if place then
          table.insert(items, {
            rank = ({ act = 1, hot = 2, note = 3 })[finding.level],
            cost = (value(kernel.share) or 0) * finding.share,
            filename = vim.uri_to_fname(place.uri),
            lnum = place.line + 1,
            col = place.character + 1,
            type = ({ act = 'W', hot = 'I', note = 'N' })[finding.level],
            text = finding.share > 0 and string.format('%s of %s: %s', percent(finding.share), kernel.baseName, finding.text)
              or string.format('%s: %s', kernel.baseName, finding.text),
          })
        end
      end
    end
  end
  table.sort(items, function(a, b)
    if a.rank ~= b.rank then
      return a.rank < b.rank
    end
    if a.cost ~= b.cost then
      return a.cost > b.cost
    end
    return a.lnum < b.lnum
  end)
  for _, item in ipairs(items) do
    item.rank, item.cost = nil, nil
  end
  return items
end

---Puts the findings into the quickfix list and opens it; the cursor stays where it is.
function M.hotspots()
  ask(function(answer)
    vim.fn.setqflist({}, ' ', { title = 'Optimas hotspots', items = M.items(answer) })
    local window = vim.api.nvim_get_current_win()
    vim.cmd('copen')
    vim.api.nvim_set_current_win(window)
  end)
end

local function level(share)
  local found = 0
  for index, step in ipairs(STEPS) do
    if share >= step[1] then
      found = index
    end
  end
  return found
end

sass.level = level

---Draws the signs of one buffer anew.
local function paint(bufnr)
  vim.fn.sign_unplace(GROUP, { buffer = bufnr })
  if not M.options.heat then
    return
  end
  local last = vim.api.nvim_buf_line_count(bufnr)
  for _, entry in ipairs(heat_by_uri[vim.uri_from_bufnr(bufnr)] or {}) do
    local line, step = entry[1] + 1, level(entry[2])
    if step > 0 and line <= last then
      vim.fn.sign_place(0, GROUP, 'OptimasHeat' .. step, bufnr, { lnum = line, priority = 5 })
    end
  end
end

local function paint_all()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and #clients(bufnr) > 0 then
      paint(bufnr)
    end
  end
end

---Asks for the heat of all files again and draws it.
function M.refresh()
  if #clients() == 0 then
    return
  end
  ask(function(answer)
    heat_by_uri = {}
    for _, file in ipairs(answer.heat) do
      -- Written the way Neovim writes its own URIs, so that the two can be compared.
      heat_by_uri[vim.uri_from_fname(vim.uri_to_fname(file.uri))] = file.lines
    end
    paint_all()
  end)
end

---Switches heat in the sign column.
function M.toggle_heat()
  M.options.heat = not M.options.heat
  paint_all()
end

---The kernel whose definition begins at or above the cursor in this file, and the costliest finding on its line.
local function pointed(answer)
  local uri, row = vim.uri_from_bufnr(0), vim.api.nvim_win_get_cursor(0)[1] - 1
  local kernel, finding, above, share
  for _, report in ipairs(answer.reports) do
    for _, each in ipairs(report.shown and report.kernels or {}) do
      local place = value(each.place)
      if place and vim.uri_from_fname(vim.uri_to_fname(place.uri)) == uri and place.line <= row and place.line >= (above or 0) then
        kernel, above = each, place.line
      end
      for _, one in ipairs(each.findings) do
        local at = value(one.place)
        if at and at.line == row and vim.uri_from_fname(vim.uri_to_fname(at.uri)) == uri and one.share >= (share or 0) then
          finding, share = { kernel = each, id = one.id }, one.share
        end
      end
    end
  end
  return uri, kernel, finding
end

---Runs a command of the server on the kernel around the cursor; `more` are arguments after its name.
local function on_kernel(command, ...)
  local more = { ... }
  ask(function(answer)
    local uri, kernel = pointed(answer)
    if not kernel then
      vim.notify('Optimas: there is no profiled kernel at or above the cursor', vim.log.levels.WARN)
      return
    end
    execute(command, vim.list_extend({ uri, kernel.mangled }, more))
  end)
end

---Runs a command of the server on the finding of the cursor's line.
local function on_finding(command)
  ask(function(answer)
    local uri, _, finding = pointed(answer)
    if not finding then
      vim.notify('Optimas: there is no finding on this line', vim.log.levels.WARN)
      return
    end
    execute(command, { uri, finding.id })
  end)
end

---Runs a command on the finding of the cursor's line, or else on the kernel around it.
local function on_anything(command, arguments)
  ask(function(answer)
    local uri, kernel, finding = pointed(answer)
    if not (kernel or finding) then
      vim.notify('Optimas: there is no finding and no profiled kernel here', vim.log.levels.WARN)
      return
    end
    execute(command, arguments(uri, (finding or { kernel = kernel }).kernel.mangled, finding and finding.id or nil))
  end)
end

---Shows the machine code of the kernel named so, or of the one of this file: the user's choice where there are several.
local function machine_code(name)
  local view = sass.views[vim.api.nvim_get_current_buf()]
  local uri = view and view.uri or vim.uri_from_bufnr(0)
  ask(function(answer)
    local found = {}
    local row = view and 0 or vim.api.nvim_win_get_cursor(0)[1] - 1
    for _, report in ipairs(answer.reports) do
      for _, kernel in ipairs(report.shown and report.kernels or {}) do
        local place = value(kernel.place)
        local here = place and vim.uri_from_fname(vim.uri_to_fname(place.uri)) == uri
        if name and (kernel.mangled == name or kernel.name:find(name, 1, true)) or (not name and here) then
          local file = place and place.uri or uri
          table.insert(found, { uri = file, kernel = kernel, above = here and place.line <= row and place.line or -1 })
        end
      end
    end
    table.sort(found, function(a, b)
      if a.above ~= b.above then
        return a.above > b.above
      end
      return (value(a.kernel.share) or 0) > (value(b.kernel.share) or 0)
    end)
    if #found == 0 and name then
      vim.notify(string.format("Optimas: no kernel with '%s' in its name was profiled", name), vim.log.levels.WARN)
    elseif #found < 2 then
      sass.open(found[1] and found[1].uri or uri, found[1] and found[1].kernel.mangled)
    else
      vim.ui.select(found, {
        prompt = 'Machine code of which kernel?',
        format_item = function(each)
          return each.kernel.name
        end,
      }, function(each)
        if each then
          sass.open(each.uri, each.kernel.mangled)
        end
      end)
    end
  end)
end

---What follows :Optimas, and what it does.
M.commands = {
  hotspots = M.hotspots,
  heat = M.toggle_heat,
  optimise = function()
    on_kernel('optimas.optimizeKernel')
  end,
  ['optimise-hotspot'] = function()
    on_finding('optimas.optimizeFinding')
  end,
  try = function(transformation)
    on_kernel('optimas.tryTransformation', transformation)
  end,
  explain = function()
    on_anything('optimas.explain', function(uri, mangled, id)
      return { uri, id or mangled }
    end)
  end,
  prompt = function()
    on_anything('optimas.showPrompt', function(uri, mangled, id)
      return { uri, mangled, id }
    end)
  end,
  profile = function()
    on_kernel('optimas.profileKernel')
  end,
  compare = function()
    execute('optimas.compareWithPrevious', { vim.uri_from_bufnr(0) })
  end,
  known = function()
    on_finding('optimas.markKnown')
  end,
  unknown = function()
    execute('optimas.unmarkKnown', { vim.uri_from_bufnr(0) })
  end,
  sass = machine_code,
  jobs = jobs.show,
  preview = jobs.preview,
  outcome = jobs.outcome,
  apply = jobs.apply,
  cancel = jobs.cancel,
  refuse = jobs.refuse,
  forget = jobs.forget,
}

local function names(start)
  local found = vim.tbl_filter(function(name)
    return vim.startswith(name, start)
  end, vim.tbl_keys(M.commands))
  table.sort(found)
  return found
end

local function run(call)
  local name = call.fargs[1]
  local act = M.commands[name]
  if not act then
    vim.notify(string.format("Optimas: there is no ':Optimas %s'; there are: %s", name, table.concat(names(''), ', ')),
      vim.log.levels.ERROR)
    return
  end
  act(call.fargs[2])
end

local function on_attach(client, bufnr)
  if M.options.inlay_hints and vim.lsp.inlay_hint then
    vim.lsp.inlay_hint.enable(true, { bufnr = bufnr })
  end
  if M.options.code_lens and client.server_capabilities.codeLensProvider then
    vim.lsp.codelens.refresh({ bufnr = bufnr })
    vim.api.nvim_create_autocmd({ 'BufEnter', 'InsertLeave' }, {
      group = vim.api.nvim_create_augroup('optimas_lens_' .. bufnr, { clear = true }),
      buffer = bufnr,
      callback = function()
        vim.lsp.codelens.refresh({ bufnr = bufnr })
      end,
    })
  end
  M.refresh()
end

local function root(bufnr)
  local file = vim.api.nvim_buf_get_name(bufnr)
  local folder = vim.fn.fnamemodify(file, ':p:h')
  if vim.fs and vim.fs.root then
    return vim.fs.root(bufnr, { 'optimas.toml', '.git' }) or folder
  end
  local marker = vim.fn.findfile('optimas.toml', folder .. ';')
  if marker ~= '' then
    return vim.fn.fnamemodify(marker, ':p:h')
  end
  local git = vim.fn.finddir('.git', folder .. ';')
  return git ~= '' and vim.fn.fnamemodify(git, ':p:h:h') or folder
end

local function configuration()
  return {
    name = 'optimas',
    cmd = M.options.cmd,
    filetypes = M.options.filetypes,
    settings = { optimas = next(M.options.settings) and M.options.settings or vim.empty_dict() },
    init_options = { hotspots = true, jobs = true, announce = false },
    on_attach = on_attach,
    on_exit = vim.schedule_wrap(sass.ended),
    handlers = {
      ['optimas/hotspotsChanged'] = function()
        M.refresh()
        sass.refresh()
      end,
      ['optimas/jobsChanged'] = function(_, answer)
        jobs.follow(answer)
      end,
    },
  }
end

---What runs and how far it is, for a status line; empty when nothing does.
M.status = jobs.status

-- Neovim before 0.11: one client a root, attached by hand.
local started = {}

local function start_old(bufnr)
  local folder = root(bufnr)
  if vim.lsp.start then
    vim.lsp.start(vim.tbl_extend('force', configuration(), { root_dir = folder }), { bufnr = bufnr })
    return
  end
  local id = started[folder]
  if not id or vim.lsp.client_is_stopped(id) then
    id = vim.lsp.start_client(vim.tbl_extend('force', configuration(), {
      root_dir = folder,
      workspace_folders = { { uri = vim.uri_from_fname(folder), name = folder } },
      capabilities = vim.lsp.protocol.make_client_capabilities(),
    }))
    started[folder] = id
  end
  vim.lsp.buf_attach_client(bufnr, id)
end

---Defines the commands, the signs and the server, and starts it for every file of its types.
---@param options table|nil what differs from M.options
function M.setup(options)
  M.options = vim.tbl_extend('force', M.options, options or {})
  for index, step in ipairs(STEPS) do
    local name = 'OptimasHeat' .. index
    vim.api.nvim_set_hl(0, name, vim.tbl_extend('force', { default = true }, step[3]))
    vim.fn.sign_define(name, { text = step[2], texthl = name })
  end
  vim.api.nvim_create_user_command('OptimasHotspots', M.hotspots, { desc = 'Optimas findings in the quickfix list' })
  vim.api.nvim_create_user_command('OptimasHeat', M.toggle_heat, { desc = 'Switch heat in the sign column' })
  vim.api.nvim_create_user_command('Optimas', run, {
    nargs = '+',
    complete = function(start, line)
      return #vim.split(line, '%s+') <= 2 and names(start) or {}
    end,
    desc = 'Optimas: rewrites, explanations and profiles at the cursor',
  })
  if vim.lsp.config and vim.lsp.enable then
    local config = configuration()
    config.root_dir = function(bufnr, on_dir)
      on_dir(root(bufnr))
    end
    vim.lsp.config('optimas', config)
    vim.lsp.enable('optimas')
    return
  end
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('optimas_start', { clear = true }),
    pattern = M.options.filetypes,
    callback = function(event)
      start_old(event.buf)
    end,
  })
end

return M
