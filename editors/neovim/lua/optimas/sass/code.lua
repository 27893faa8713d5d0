--- Which instructions belong to which source line, and what waits for what: optimas.sass/1 without an editor.
--- A view is { code, line_of, rows_at, uris } as `index` fills it. Rows and files count from 0 as in the answer.
local C = {}

---Of the kernel's stalled samples: a wait that takes less is not marked, an instruction that costs less draws no cursor.
local LEAST, WORTH = 0.001, 0.005

function C.value(something)
  if something == vim.NIL then
    return nil
  end
  return something
end

local function same(uri)
  return vim.uri_from_fname(vim.uri_to_fname(uri))
end

function C.percent(share)
  local number = share * 100
  return string.format(number < 9.95 and '%.1f %%' or '%.0f %%', number)
end

function C.share(view, samples)
  return view.code.stalled > 0 and samples / view.code.stalled or 0
end

local function key(place)
  return place[1] .. ':' .. place[2]
end

---Finds the instructions of `code` by text line and by source line.
function C.index(view, code)
  view.code, view.line_of, view.rows_at, view.uris = code, {}, {}, {}
  for line, shown in ipairs(code.listing) do
    local row = C.value(shown.row)
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
    local uri = C.value(source.uri)
    source.uri = uri and same(uri)
    if uri then
      view.uris[source.uri] = true
    end
  end
end

---Today's line of a profiled place, as { uri, line }; nil when its file is not here or the line's text has changed.
function C.here(view, place)
  local source = view.code.sources[place[1] + 1]
  if not (source and source.uri) then
    return nil
  end
  local lines = C.value(source.lines)
  if not lines then
    return { uri = source.uri, line = place[2] }
  end
  for _, each in ipairs(lines) do
    if each[1] == place[2] then
      return C.value(each[2]) and { uri = source.uri, line = each[2] }
    end
  end
end

---Places of a text line in files that are here, innermost first.
function C.places(view, line)
  local shown = view.code.listing[line] or {}
  local row, found = C.value(shown.row), {}
  for _, place in ipairs(row and view.code.rows[row + 1].places or { C.value(shown.place) }) do
    table.insert(found, C.here(view, place))
  end
  return found
end

---The instructions that a text line is about: one, or for a heading those of its source line.
function C.rows_of_text(view, line)
  local shown = view.code.listing[line] or {}
  if C.value(shown.row) then
    return { shown.row }
  end
  return C.value(shown.place) and view.rows_at[key(shown.place)] or {}
end

---The instructions that come from a line of today's text, ascending.
function C.rows_of_source(view, uri, line)
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
      local lines = C.value(source.lines)
      if not lines then
        take(number - 1, line)
      end
      for _, each in ipairs(lines or {}) do
        if C.value(each[2]) == line then
          take(number - 1, each[1])
        end
      end
    end
  end
  table.sort(found)
  return found
end

---What `rows` wait for, or who waits for them: other row → { samples, reasons }.
function C.waits(view, rows, side)
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
    if C.share(view, wait.samples) < LEAST then
      found[row] = nil
    end
  end
  return found
end

---The text line of the row that costs most, by its own stalls and those it causes, or of the first.
function C.heaviest(view, rows)
  local best, most = rows[1], WORTH
  for _, row in ipairs(rows) do
    local about = view.code.rows[row + 1]
    local samples = about.stalled
    for _, edge in ipairs(about.awaited_by) do
      samples = samples + edge.samples
    end
    if C.share(view, samples) > most then
      best, most = row, C.share(view, samples)
    end
  end
  return best and view.line_of[best]
end

return C
