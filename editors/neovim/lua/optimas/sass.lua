--- Machine code in Neovim: a kernel's instructions in a split beside the source, in step with it, with what waits for what.
--- Used through :Optimas sass (see optimas.lua); answers are those of optimas.machineCode (schema optimas.sass/1).
local S = {}

---Runs a command of the server: execute(name, arguments, with(answer), failed(words)). Set by optimas.lua.
S.execute = nil
---Index of the heat step that a share reaches, from 1; 0 below the first. Set by optimas.lua.
S.level = nil

local MARKS = vim.api.nvim_create_namespace('optimas_sass_marks')
local HEAT = vim.api.nvim_create_namespace('optimas_sass_heat')
local GROUP = 'optimas_sass'
---A source may change with every key; its lines are asked for once the keys rest (ms).
local REST = 300
---Of the kernel's stalled samples: a wait that takes less is not marked, an instruction that costs less draws no cursor.
local LEAST, WORTH = 0.001, 0.005

---Buffer of a listing → { uri, mangled, code, line_of, rows_at }; `code` is nil while it cannot be had.
S.views = {}

local function value(something)
  if something == vim.NIL then
    return nil
  end
  return something
end

local function say(words, level)
  vim.notify('Optimas: ' .. words, level or vim.log.levels.INFO)
end

local function same(uri)
  return vim.uri_from_fname(vim.uri_to_fname(uri))
end

local function percent(share)
  local number = share * 100
  return string.format(number < 9.95 and '%.1f %%' or '%.0f %%', number)
end

local function share(view, samples)
  return view.code.stalled > 0 and samples / view.code.stalled or 0
end

local function key(place)
  return place[1] .. ':' .. place[2]
end

---Finds the instructions of `code` by text line and by source line; rows and files count from 0 as in the answer.
local function index(view, code)
  view.code, view.line_of, view.rows_at, view.uris = code, {}, {}, {}
  for line, shown in ipairs(code.listing) do
    local row = value(shown.row)
    if row then
      view.line_of[row] = line
    end
  end
  for number, row in ipairs(code.rows) do
    local seen = {}
    for _, place in ipairs(row.places) do
      if not seen[key(place)] then
        seen[key(place)] = true
        view.rows_at[key(place)] = view.rows_at[key(place)] or {}
        table.insert(view.rows_at[key(place)], number - 1)
      end
    end
  end
  for _, source in ipairs(code.sources) do
    local uri = value(source.uri)
    source.uri = uri and same(uri)
    if uri then
      view.uris[source.uri] = true
    end
  end
end

---Today's line of a profiled place, as { uri, line }; nil when its file is not here or the line's text has changed.
local function here(view, place)
  local source = view.code.sources[place[1] + 1]
  if not (source and source.uri) then
    return nil
  end
  local lines = value(source.lines)
  if not lines then
    return { uri = source.uri, line = place[2] }
  end
  for _, each in ipairs(lines) do
    if each[1] == place[2] then
      return value(each[2]) and { uri = source.uri, line = each[2] }
    end
  end
end

---Places of a text line in files that are here, innermost first.
local function places(view, line)
  local shown = view.code.listing[line] or {}
  local row, found = value(shown.row), {}
  for _, place in ipairs(row and view.code.rows[row + 1].places or { value(shown.place) }) do
    table.insert(found, here(view, place))
  end
  return found
end

---The instructions that a text line is about: one, or for a heading those of its source line.
local function rows_of_text(view, line)
  local shown = view.code.listing[line] or {}
  if value(shown.row) then
    return { shown.row }
  end
  return value(shown.place) and view.rows_at[key(shown.place)] or {}
end

---The instructions that come from a line of today's text, ascending.
local function rows_of_source(view, uri, line)
  local found, seen = {}, {}
  local function take(file, profiled)
    for _, row in ipairs(view.rows_at[file .. ':' .. profiled] or {}) do
      if not seen[row] then
        seen[row] = true
        table.insert(found, row)
      end
    end
  end
  for number, source in ipairs(view.code.sources) do
    if source.uri == uri then
      local lines = value(source.lines)
      if not lines then
        take(number - 1, line)
      end
      for _, each in ipairs(lines or {}) do
        if value(each[2]) == line then
          take(number - 1, each[1])
        end
      end
    end
  end
  table.sort(found)
  return found
end

---What `rows` wait for, or who waits for them: other row → { samples, reasons }.
local function waits(view, rows, side)
  local own, found = {}, {}
  for _, row in ipairs(rows) do
    own[row] = true
  end
  for _, row in ipairs(rows) do
    for _, edge in ipairs(view.code.rows[row + 1][side]) do
      if not own[edge.row] then
        local wait = found[edge.row] or { samples = 0, reasons = {} }
        wait.samples = wait.samples + edge.samples
        if not vim.tbl_contains(wait.reasons, edge.reason) then
          table.insert(wait.reasons, edge.reason)
        end
        found[edge.row] = wait
      end
    end
  end
  for row, wait in pairs(found) do
    if share(view, wait.samples) < LEAST then
      found[row] = nil
    end
  end
  return found
end

---The text line of the row that costs most, by its own stalls and those it causes, or of the first.
local function heaviest(view, rows)
  local best, most = rows[1], WORTH
  for _, row in ipairs(rows) do
    local about = view.code.rows[row + 1]
    local samples = about.stalled
    for _, edge in ipairs(about.awaited_by) do
      samples = samples + edge.samples
    end
    if share(view, samples) > most then
      best, most = row, share(view, samples)
    end
  end
  return best and view.line_of[best]
end

local function mark(bufnr, line, group, words)
  if line <= vim.api.nvim_buf_line_count(bufnr) then
    vim.api.nvim_buf_set_extmark(bufnr, MARKS, line - 1, 0, {
      end_row = line,
      strict = false, -- the last line has none after it
      hl_group = group,
      hl_eol = true,
      virt_text = words and { { words, 'OptimasWait' } } or nil,
      priority = 50,
    })
  end
end

---Marks the other ends of the waits of `rows` in the listing.
local function mark_waits(view, bufnr, rows)
  for _, side in ipairs({ { 'waits_for', '◀ cause of', 'OptimasCause' }, { 'awaited_by', '◀ waits for it:', 'OptimasWaiting' } }) do
    for row, wait in pairs(waits(view, rows, side[1])) do
      local words = string.format('%s %s of all stalls (%s)', side[2], percent(share(view, wait.samples)),
        table.concat(wait.reasons, ', '))
      mark(bufnr, view.line_of[row], side[3], words)
    end
  end
end

local function clear()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.api.nvim_buf_clear_namespace(bufnr, MARKS, 0, -1)
    end
  end
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
    clear()
    if not view.code then
      return
    end
    local rows = rows_of_text(view, line)
    for _, row in ipairs(rows) do
      mark(current, view.line_of[row], 'OptimasInStep')
    end
    mark_waits(view, current, rows)
    local moved = false
    for _, place in ipairs(places(view, line)) do
      local bufnr = vim.uri_to_bufnr(place.uri)
      for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
        mark(bufnr, place.line, 'OptimasInStep')
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
        clear()
        cleared = true
      end
      local rows = rows_of_source(each, uri, line)
      for _, row in ipairs(rows) do
        mark(bufnr, each.line_of[row], 'OptimasInStep')
      end
      mark_waits(each, bufnr, rows)
      for _, win in ipairs(vim.fn.win_findbuf(bufnr)) do
        bring(win, heaviest(each, rows), true)
      end
    end
  end
end

local function syntax(bufnr)
  vim.api.nvim_buf_call(bufnr, function()
    vim.cmd([[
      syntax match optimasSassHeading /^\s*\%(in \)\?\S\+:\d\+\ze\%(  \|$\)/
      syntax match optimasSassColumns /^\s\+stalled\s\+samples.*$/
      syntax match optimasSassOffset /0x\x\{4,}\ze  \S/ nextgroup=optimasSassGap
      syntax match optimasSassGap /  / contained nextgroup=optimasSassGuard,optimasSassOpcode
      syntax match optimasSassGuard /@!\?U\?P[0-9T]\+ / contained nextgroup=optimasSassOpcode
      syntax match optimasSassOpcode /\u[A-Z0-9]*\%(\.[A-Za-z0-9_]\+\)*/ contained nextgroup=optimasSassOperands
      syntax match optimasSassOperands /\%( \S\+\)\+/ contained contains=optimasSassRegister,optimasSassPredicate,optimasSassNumber
      syntax match optimasSassRegister /\<U\?R\%(Z\|\d\+\)\>/ contained
      syntax match optimasSassPredicate /\<U\?P\%(T\|\d\+\)\>/ contained
      syntax match optimasSassNumber /\<0x\x\+\>\|\<\d\+\>/ contained
      highlight default link optimasSassHeading Title
      highlight default link optimasSassColumns Comment
      highlight default link optimasSassOffset Label
      highlight default link optimasSassGuard PreProc
      highlight default link optimasSassOpcode Keyword
      highlight default link optimasSassRegister Identifier
      highlight default link optimasSassPredicate PreProc
      highlight default link optimasSassNumber Number
    ]])
  end)
end

---Heat on the first columns of the instructions, by their share of the kernel's stalls; what never ran is dimmed.
local function paint(bufnr, view)
  vim.api.nvim_buf_clear_namespace(bufnr, HEAT, 0, -1)
  for number, row in ipairs(view.code and view.code.rows or {}) do
    local line, step = view.line_of[number - 1], S.level(share(view, row.stalled))
    local text = line and view.code.listing[line].text or ''
    if line and step > 0 then
      vim.api.nvim_buf_set_extmark(bufnr, HEAT, line - 1, 0,
        { end_col = (text:find('%%') or 0), hl_group = 'OptimasHeat' .. step, priority = 40 })
    elseif line and value(row.executed) == 0 then
      vim.api.nvim_buf_set_extmark(bufnr, HEAT, line - 1, 0, { end_col = #text, hl_group = 'Comment', priority = 200 })
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
  index(view, code)
  write(bufnr, vim.tbl_map(function(shown)
    return shown.text
  end, code.listing))
  paint(bufnr, view)
  S.step()
end

local function lose(bufnr, words)
  local view = S.views[bufnr]
  view.code = nil
  write(bufnr, vim.list_extend({ 'The machine code cannot be shown now.' }, vim.split(words, '\n')))
  paint(bufnr, view)
  clear()
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
  local row = shown and value(shown.row)
  return view, row and view.code.rows[row + 1], line
end

---From an instruction or heading to its source line: the innermost place that is here.
function S.to_source()
  local view, _, line = row_at_cursor()
  local place = view and view.code and places(view, line)[1]
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
  local executed, threads = value(row.executed), value(row.threads)
  local lines = {
    string.format('0x%04x  %s', row.offset, row.sass),
    string.format('%d samples, %d of stalled warps: %s of the kernel\'s stalls', row.samples, row.stalled, percent(share(view, row.stalled))),
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
        percent(share(view, edge.samples)), edge.reason, edge.confidence))
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
        clear()
      end
    end,
  })
end

local function colours()
  for name, look in pairs({
    OptimasInStep = { link = 'Visual' },
    OptimasCause = { link = 'DiffChange' },
    OptimasWaiting = { link = 'DiffAdd' },
    OptimasWait = { link = 'Comment' },
  }) do
    vim.api.nvim_set_hl(0, name, vim.tbl_extend('force', { default = true }, look))
  end
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
      syntax(bufnr)
      keys(bufnr)
      colours()
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
