-- Opens a file with the language server and writes down, as JSON, what a person would see. Works in Neovim 0.7 and later.
local env = vim.env
local modern = vim.fn.has('nvim-0.11') == 1
local seen = { version = vim.fn.matchstr(vim.fn.execute('version'), 'NVIM v[0-9.]*') }

local function await(what, predicate)
  if not vim.wait(60000, predicate, 20) then error('waited in vain for ' .. what) end
end

local function squiggles()
  local found = {}
  for _, each in ipairs(vim.diagnostic.get(0)) do
    table.insert(found, { line = each.lnum + 1, col = each.col, end_col = each.end_col, code = each.code,
      severity = each.severity, message = each.message, source = each.source })
  end
  table.sort(found, function(a, b) return a.line < b.line or (a.line == b.line and tostring(a.code) < tostring(b.code)) end)
  return found
end

-- How many marks with a name like `pattern` are drawn in the buffer.
local function marks(pattern)
  local count = 0
  for name, ns in pairs(vim.api.nvim_get_namespaces()) do
    if name:find(pattern) then count = count + #vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {}) end
  end
  return count
end

-- How many marks the diagnostics have in the buffer: underlines, virtual text.
local function drawn()
  local count = 0
  for _, space in pairs(vim.diagnostic.get_namespaces()) do
    for _, name in ipairs({ 'underline_ns', 'virt_text_ns' }) do
      local ns = space.user_data[name]
      if ns then count = count + #vim.api.nvim_buf_get_extmarks(0, ns, 0, -1, {}) end
    end
  end
  return count
end

local function floating()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative ~= '' then
      return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(win), 0, -1, false), '\n')
    end
  end
end

local function lenses()
  vim.lsp.codelens.refresh()
  await('code lenses', function() return #vim.lsp.codelens.get(0) > 0 end)
  local found = {}
  for _, lens in ipairs(vim.lsp.codelens.get(0)) do
    table.insert(found, { line = lens.range.start.line + 1, title = lens.command.title })
  end
  return found
end

local function hints()
  vim.lsp.inlay_hint.enable(true, { bufnr = 0 })
  await('inlay hints', function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end)
  local found = {}
  for _, each in ipairs(vim.lsp.inlay_hint.get({ bufnr = 0 })) do
    table.insert(found, { line = each.inlay_hint.position.line + 1, label = each.inlay_hint.label })
  end
  return found
end

local function edits(hot)
  local count = #squiggles()
  local first = squiggles()[1].line
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { '// one', '// two 𝛼', '// three' })
  await('findings that moved down', function() return #squiggles() == count and squiggles()[1].line == first + 3 end)
  seen.moved = squiggles()
  local text = vim.api.nvim_buf_get_lines(0, hot + 2, hot + 3, false)[1]
  vim.api.nvim_buf_set_lines(0, hot + 2, hot + 3, false, { text .. ' // touched' })
  await('the findings of a changed line to go', function() return #squiggles() < count end)
  seen.touched = squiggles()
  vim.api.nvim_buf_set_lines(0, hot + 2, hot + 3, false, { text })
  await('the findings to come back', function() return #squiggles() == count end)
  seen.restored = squiggles()
end

local function look()
  local options = { name = 'optimas', cmd = { env.OPTIMAS_PYTHON, '-m', 'optimas_lsp' }, root_dir = env.OPTIMAS_FOLDER }
  vim.cmd('edit ' .. vim.fn.fnameescape(env.OPTIMAS_FILE))
  vim.bo.modifiable = true
  local id
  if modern then
    id = vim.lsp.start(options)
  else
    id = vim.lsp.start_client(options)
    vim.lsp.buf_attach_client(0, id)
  end
  await('findings', function() return #squiggles() > 0 end)
  seen.squiggles = squiggles()
  seen.drawn = drawn()
  seen.encoding = vim.lsp.get_client_by_id(id).offset_encoding

  local hot = tonumber(env.OPTIMAS_LINE)
  vim.api.nvim_win_set_cursor(0, { hot, 8 })
  vim.lsp.buf.hover()
  await('a hover', function() return floating() ~= nil end)
  seen.hover = floating()
  vim.cmd('silent! wincmd o')

  if env.OPTIMAS_LENSES == '1' then
    seen.lenses = lenses()
    seen.lenses_drawn = marks('codelens')
  end
  if modern then seen.hints = hints() end
  edits(hot)

  local answer = vim.lsp.buf_request_sync(0, 'workspace/executeCommand',
    { command = 'optimas.debugInformation', arguments = { { text = vim.uri_from_bufnr(0) } } }, 10000)
  seen.debug = answer[id].result
  seen.buffer = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n'
  vim.lsp.stop_client(id)
  await('the server to end', function() return vim.lsp.get_client_by_id(id) == nil or vim.lsp.get_client_by_id(id).is_stopped() end)
end

local ok, problem = pcall(look)
seen.problem = not ok and tostring(problem) or nil
local file = assert(io.open(env.OPTIMAS_RESULT, 'w'))
file:write(vim.json.encode(seen))
file:close()
vim.cmd(ok and 'qa!' or 'cq')
