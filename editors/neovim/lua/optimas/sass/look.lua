--- How machine code looks in Neovim: marks of what belongs to the cursor, syntax, heat.
local L = {}

local code = require('optimas.sass.code')

local MARKS = vim.api.nvim_create_namespace('optimas_sass_marks')
local HEAT = vim.api.nvim_create_namespace('optimas_sass_heat')

function L.mark(bufnr, line, group, words)
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

---In a source at most so many lines are marked as other ends of waits: it is read for other reasons, too.
local IN_SOURCE = 3

---Marks the source lines of `waits` (other row → wait) that are in a window, those with most samples first; not the cursor's.
local function mark_sources(view, waits, group, words)
  local sums, order = {}, {}
  for row, wait in pairs(waits) do
    local place = code.places(view, view.line_of[row])[1]
    local key = place and place.uri .. ':' .. place.line
    if place and not sums[key] then
      sums[key] = { place = place, samples = 0, reasons = wait.reasons }
      table.insert(order, sums[key])
    end
    if place then
      sums[key].samples = sums[key].samples + wait.samples
    end
  end
  table.sort(order, function(one, other)
    return one.samples > other.samples
  end)
  for number = 1, math.min(#order, IN_SOURCE) do
    local each = order[number]
    local bufnr = vim.fn.bufnr(vim.uri_to_fname(each.place.uri))
    local at_cursor = bufnr == vim.api.nvim_get_current_buf() and each.place.line == vim.api.nvim_win_get_cursor(0)[1]
    if bufnr ~= -1 and not at_cursor and #vim.fn.win_findbuf(bufnr) > 0 then
      L.mark(bufnr, each.place.line, group, words(each))
    end
  end
end

---Marks the other ends of the waits of `rows`, in the listing and in the sources that are shown.
function L.mark_waits(view, bufnr, rows)
  for _, side in ipairs({ { 'waits_for', '◀ cause of', 'OptimasCause' }, { 'awaited_by', '◀ waits for it:', 'OptimasWaiting' } }) do
    local function words(wait)
      return string.format('%s %s of all stalls (%s)', side[2], code.percent(code.share(view, wait.samples)),
        table.concat(wait.reasons, ', '))
    end
    local waits = code.waits(view, rows, side[1])
    for row, wait in pairs(waits) do
      L.mark(bufnr, view.line_of[row], side[3], words(wait))
    end
    mark_sources(view, waits, side[3], words)
  end
end

function L.clear()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      vim.api.nvim_buf_clear_namespace(bufnr, MARKS, 0, -1)
    end
  end
end

function L.syntax(bufnr)
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
---`level` is the index of the step that a share reaches, 0 below the first.
function L.paint(bufnr, view, level)
  vim.api.nvim_buf_clear_namespace(bufnr, HEAT, 0, -1)
  for number, row in ipairs(view.code and view.code.rows or {}) do
    local line, step = view.line_of[number - 1], level(code.share(view, row.stalled))
    local text = line and view.code.listing[line].text or ''
    if line and step > 0 then
      vim.api.nvim_buf_set_extmark(bufnr, HEAT, line - 1, 0,
        { end_col = (text:find('%%') or 0), hl_group = 'OptimasHeat' .. step, priority = 40 })
    elseif line and code.value(row.executed) == 0 then
      vim.api.nvim_buf_set_extmark(bufnr, HEAT, line - 1, 0, { end_col = #text, hl_group = 'Comment', priority = 200 })
    end
  end
end

function L.colours()
  for name, look in pairs({
    OptimasInStep = { link = 'Visual' },
    OptimasCause = { link = 'DiffChange' },
    OptimasWaiting = { link = 'DiffAdd' },
    OptimasWait = { link = 'Comment' },
  }) do
    vim.api.nvim_set_hl(0, name, vim.tbl_extend('force', { default = true }, look))
  end
end

return L
