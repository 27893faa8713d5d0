--- Machine code in Neovim: a kernel's instructions in a split beside the source, in step with it, with what waits for what.
--- Used through :Optimas sass (see optimas.lua); answers are those of optimas.machineCode (schema optimas.sass/1).
local S = {}

local C = require('optimas.sass.code')
local look = require('optimas.sass.look')

---Runs a command of the server: execute(name, arguments, with(answer), failed(words)). Set by optimas.lua.
S.execute = nil
---Index of the heat step that a share reaches, from 1; 0 below the first. Set by optimas.lua.
S.level = nil

local GROUP = 'optimas_sass'
---A source may change with every key; its lines are asked for once the keys rest (ms).
local REST = 300
---Buffer of a listing → { uri, mangled, code, line_of, rows_at }; `code` is nil while it cannot be had.
S.views = {}

local function say(words, level)
  vim.notify('Optimas: ' .. words, level or vim.log.levels.INFO)
end

---Moves the cursor of another window than the current one, so that `line` is in view.
local function bring(win, line, always)
  if not line or win == vim.api.nvim_get_current_win() then
    return
  end
  line = math.min(line, vim.api.nvim_buf_line_count(vim.api.nvim_win_get_buf(win)))
  local first, last = vim.fn.line('w0', win), vim.fn.line('w$', win)
  local outside = line < first or line > last
  if always or outside then
    vim.api.nvim_win_set_cursor(win, { line, 0 })
  end
  if outside then
    vim.api.nvim_win_call(win, function()
      vim.cmd('normal! zz')
    end)
  end
end

---Draws everything for the cursor. Only windows other than the one it is in are moved, so neither chases the other.
function S.step()
  if not next(S.views) then
    return
  end
  local current, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  local view = S.views[current]
  if view then
    look.clear()
    if not view.code then
      return
    end
    local rows = C.rows_of_text(view, line)
    for _, row in ipairs(rows) do
      look.mark(current, view.line_of[row], 'OptimasInStep')
    end
    look.mark_waits(view, current, rows)
    local moved = false
    for _, place in ipairs(C.places(view, line)) do
      local bufnr = vim.uri_to_bufnr(place.uri)
      for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
        look.mark(bufnr, place.line, 'OptimasInStep')
        bring(win, not moved and place.line or nil)
        moved = true
      end
    end
    return
  end
  local uri = vim.uri_from_bufnr(current)
  local cleared = false
  for bufnr, each in pairs(S.views) do
    if each.code and each.uris[uri] then
      if not cleared then
        look.clear()
        cleared = true
      end
      local rows = C.rows_of_source(each, uri, line)
      for _, row in ipairs(rows) do
        look.mark(bufnr, each.line_of[row], 'OptimasInStep')
      end
      look.mark_waits(each, bufnr, rows)
      for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
        bring(win, C.heaviest(each, rows), true)
      end
    end
  end
end

local function write(bufnr, lines)
  if not vim.deep_equal(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false), lines) then
    vim.bo[bufnr].modifiable = true
    vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
    vim.bo[bufnr].modifiable = false
  end
end

local function show(bufnr, code)
  local view = S.views[bufnr]
  C.index(view, code)
  write(bufnr, vim.tbl_map(function(shown)
    return shown.text
  end, code.listing))
  look.paint(bufnr, view, S.level)
  S.step()
end

local function lose(bufnr, words)
  local view = S.views[bufnr]
  view.code = nil
  write(bufnr, vim.list_extend({ 'The machine code cannot be shown now.' }, vim.split(words, '\n')))
  look.paint(bufnr, view, S.level)
  look.clear()
end

---Asks for everything that is open again.
function S.refresh()
  for bufnr, view in pairs(S.views) do
    view.asked = (view.asked or 0) + 1
    local asked = view.asked
    local function unless_older(act)
      return function(answer)
        if S.views[bufnr] == view and view.asked == asked then
          act(bufnr, answer)
        end
      end
    end
    S.execute('optimas.machineCode', { view.uri, view.mangled }, unless_older(show), unless_older(lose))
  end
end

---Nothing stale is shown while there is no server to ask.
function S.ended()
  for bufnr, view in pairs(S.views) do
    view.asked = (view.asked or 0) + 1
    lose(bufnr, 'The Optimas server has ended.')
  end
end

---A jump, which CTRL-O undoes.
local function jump(line)
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { line, 0 })
end

local function row_at_cursor()
  local view, line = S.views[vim.api.nvim_get_current_buf()], vim.api.nvim_win_get_cursor(0)[1]
  local shown = view and view.code and view.code.listing[line]
  local row = shown and C.value(shown.row)
  return view, row and view.code.rows[row + 1], line
end

---From an instruction or heading to its source line: the innermost place that is here.
function S.to_source()
  local view, _, line = row_at_cursor()
  local place = view and view.code and C.places(view, line)[1]
  if not place then
    say('no line of a file that is here is known for this', vim.log.levels.WARN)
    return
  end
  local win = vim.fn.win_findbuf(vim.uri_to_bufnr(place.uri))[1]
  if win then
    vim.api.nvim_set_current_win(win)
  else
    vim.cmd('wincmd p')
    if S.views[vim.api.nvim_get_current_buf()] then
      vim.cmd('leftabove vsplit')
    end
    vim.cmd('edit ' .. vim.fn.fnameescape(vim.uri_to_fname(place.uri)))
  end
  jump(math.min(place.line, vim.api.nvim_buf_line_count(0)))
  vim.cmd('normal! ^')
end

---To the other end of the heaviest wait of the instruction at the cursor.
function S.to_edge(side)
  local view, row = row_at_cursor()
  local edge = row and row[side][1]
  if edge then
    jump(view.line_of[edge.row])
  else
    say(side == 'waits_for' and 'nothing is known that this line waits for' or 'nothing is known that waits for this line')
  end
end

---What is known about the instruction at the cursor, in a floating window.
function S.tell()
  local view, row = row_at_cursor()
  if not row then
    return
  end
  local executed, threads = C.value(row.executed), C.value(row.threads)
  local lines = {
    string.format('0x%04x  %s', row.offset, row.sass),
    string.format('%d samples, %d of stalled warps: %s of the kernel\'s stalls', row.samples, row.stalled, C.percent(C.share(view, row.stalled))),
  }
  if executed then
    table.insert(lines, string.format('executed %d times by a warp', executed) .. (threads and string.format(', %.1f active threads of 32', threads) or ''))
  end
  for _, reason in ipairs(row.reasons) do
    table.insert(lines, string.format('  %-24s %8d', reason[1], reason[2]))
  end
  for _, side in ipairs({ { 'waits_for', 'waits for' }, { 'awaited_by', 'is waited for by' } }) do
    for _, edge in ipairs(row[side[1]]) do
      local other = view.code.rows[edge.row + 1]
      table.insert(lines, string.format('%s 0x%04x  %s: %s of the kernel\'s stalls, %s (%s)', side[2], other.offset, other.sass,
        C.percent(C.share(view, edge.samples)), edge.reason, edge.confidence))
    end
  end
  vim.lsp.util.open_floating_preview(lines, '', { focus_id = 'optimas_sass' })
end

local function keys(bufnr)
  for lhs, each in pairs({
    ['<CR>'] = { S.to_source, 'Go to the source of this instruction' },
    gd = { function() S.to_edge('waits_for') end, 'Go to what this instruction waits for' },
    gD = { function() S.to_edge('awaited_by') end, 'Go to what waits for this instruction' },
    K = { S.tell, 'What is known about this instruction' },
  }) do
    vim.keymap.set('n', lhs, each[1], { buffer = bufnr, silent = true, desc = each[2] })
  end
end

local timer

local function edited()
  local uri = vim.uri_from_bufnr(0)
  for _, view in pairs(S.views) do
    if view.code and view.uris[uri] then
      if timer and not timer:is_closing() then
        timer:stop()
        timer:close()
      end
      timer = vim.defer_fn(function()
        timer = nil
        S.refresh()
      end, REST)
      return
    end
  end
end

local function watch()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd({ 'CursorMoved', 'CursorMovedI', 'BufEnter' }, { group = group, callback = S.step })
  vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'BufReadPost' }, { group = group, callback = edited })
  vim.api.nvim_create_autocmd('BufWipeout', {
    group = group,
    callback = function(event)
      if S.views[event.buf] then
        S.views[event.buf] = nil
        look.clear()
      end
    end,
  })
end

---Shows the machine code of a kernel beside the source: `mangled`, or the costliest with code from the file if it is nil.
---@param uri string a file with code of the kernel
---@param mangled string|nil
function S.open(uri, mangled)
  S.execute('optimas.machineCode', { uri, mangled or vim.NIL }, function(code)
    local bufnr
    for each, view in pairs(S.views) do
      bufnr = view.mangled == code.mangled and each or bufnr
    end
    if not bufnr then
      bufnr = vim.api.nvim_create_buf(false, true)
      vim.bo[bufnr].bufhidden = 'wipe'
      vim.bo[bufnr].modifiable = false
      vim.api.nvim_buf_set_name(bufnr, 'optimas://sass/' .. code.mangled)
      vim.bo[bufnr].filetype = 'optimas-sass'
      look.syntax(bufnr)
      keys(bufnr)
      look.colours()
    end
    S.views[bufnr] = { uri = uri, mangled = code.mangled }
    watch()
    if #vim.fn.win_findbuf(bufnr) == 0 then
      local source, shown = vim.api.nvim_get_current_win(), nil
      for other in pairs(S.views) do
        shown = shown or (other ~= bufnr and vim.fn.win_findbuf(other)[1])
      end
      if shown then
        vim.api.nvim_win_set_buf(shown, bufnr)
      else
        vim.cmd('rightbelow vsplit')
        vim.api.nvim_win_set_buf(0, bufnr)
        vim.wo.wrap = false
        vim.wo.number = false
        vim.wo.relativenumber = false
        vim.wo.signcolumn = 'no'
        vim.api.nvim_set_current_win(source)
      end
    end
    show(bufnr, code)
  end)
end

return S
