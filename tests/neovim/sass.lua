-- Shows machine code beside its source through the Lua module and walks through both, and writes down, as JSON, what a
-- person would see. Run by test_sass.py with the environment it sets; works in Neovim 0.7 and later.
local env = vim.env
local seen = { said = {}, asked = {} }

local function await(what, predicate)
  if not vim.wait(tonumber(env.OPTIMAS_TEST_PATIENCE_MS or 100000), predicate, 20) then
    error('waited in vain for ' .. what .. '\n' .. table.concat(seen.said, '\n') .. vim.fn.execute('messages'))
  end
end

vim.notify = function(words)
  table.insert(seen.said, words)
end
vim.ui.select = function(items, options, with)
  for _, item in ipairs(items) do
    table.insert(seen.asked, options.format_item(item))
  end
  with(items[#items], #items)
end

-- A script runs before the first key is waited for, which is when Neovim tells of a moved cursor.
local function moved()
  vim.cmd('doautocmd <nomodeline> CursorMoved')
end

local function code()
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].filetype == 'optimas-sass' then
      return bufnr
    end
  end
end

local function lines(bufnr)
  return vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
end

-- The marked lines of a buffer: { OptimasInStep = { { text, words } }, … }.
local function marks(bufnr)
  local found = {}
  local all = vim.api.nvim_buf_get_extmarks(bufnr, vim.api.nvim_get_namespaces().optimas_sass_marks, 0, -1, { details = true })
  for _, mark in ipairs(all) do
    local group = mark[4].hl_group
    found[group] = found[group] or {}
    local words = mark[4].virt_text and mark[4].virt_text[1][1] or ''
    table.insert(found[group], { text = lines(bufnr)[mark[2] + 1], words = words })
  end
  return found
end

local function has(bufnr, group, text)
  for _, each in ipairs(marks(bufnr)[group] or {}) do
    if each.text:find(text, 1, true) then
      return true
    end
  end
  return false
end

local function go(line)
  vim.api.nvim_win_set_cursor(0, { line, 0 })
  moved()
end

local function line_here()
  return vim.api.nvim_get_current_line()
end

local function window(bufnr)
  return vim.fn.win_findbuf(bufnr)[1]
end

local function run()
  vim.cmd('filetype on')
  vim.cmd('syntax enable')
  vim.opt.runtimepath:append(env.OPTIMAS_MODULE)
  vim.o.lines, vim.o.columns = 40, 160
  require('optimas').setup({ cmd = { env.OPTIMAS_PYTHON, '-m', 'optimas_lsp' }, settings = { profiles = { pollSeconds = 0.5 } } })
  vim.cmd('edit ' .. vim.fn.fnameescape(env.OPTIMAS_FILE))
  if vim.bo.filetype == '' then
    vim.bo.filetype = 'cuda'
  end
  local source = vim.api.nvim_get_current_buf()
  await('findings', function()
    return #vim.diagnostic.get(source) > 0
  end)

  local at, load, use = tonumber(env.OPTIMAS_LINE), env.OPTIMAS_LOAD, env.OPTIMAS_USE
  go(at)
  vim.cmd('Optimas sass')
  await('machine code', function()
    return code() and #lines(code()) > 10
  end)
  local bufnr = code()
  seen.kept = vim.api.nvim_get_current_buf() == source
  seen.line = marks(bufnr)
  seen.cursor = lines(bufnr)[vim.api.nvim_win_get_cursor(window(bufnr))[1]]
  seen.modifiable = vim.bo[bufnr].modifiable

  vim.api.nvim_set_current_win(window(bufnr))
  vim.fn.search(use .. '  ')
  moved()
  seen.syntax = vim.fn.synIDattr(vim.fn.synID(vim.fn.line('.'), line_here():find('FSETP'), 1), 'name')
  seen.instruction = { code = marks(bufnr), source = marks(source) }
  vim.cmd('normal gd')
  seen.cause = line_here()
  moved()
  vim.cmd(vim.api.nvim_replace_termcodes('normal! <C-o>', true, false, true))
  seen.back = line_here()
  vim.cmd('normal gd')
  vim.cmd('normal gD')
  seen.waiting = line_here()
  vim.cmd('normal K')
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(win).relative ~= '' then
      seen.told = table.concat(lines(vim.api.nvim_win_get_buf(win)), '\n')
      vim.api.nvim_win_close(win, true)
    end
  end
  vim.cmd(vim.api.nvim_replace_termcodes('normal <CR>', true, false, true))
  seen.header = { file = vim.api.nvim_buf_get_name(0), line = vim.fn.line('.') }
  moved()
  seen.of_header = marks(bufnr)

  -- Lines that moved are asked for again, and a line that changed has no instructions any more.
  vim.cmd('buffer ' .. source)
  vim.api.nvim_buf_set_lines(source, 0, 0, false, { '// one more line' })
  vim.cmd('doautocmd <nomodeline> TextChanged')
  go(at + 1)
  await('the line where it is now', function()
    moved()
    return has(bufnr, 'OptimasInStep', load)
  end)
  local text = line_here()
  vim.api.nvim_set_current_line(text .. ';')
  vim.cmd('doautocmd <nomodeline> TextChanged')
  await('no instructions of a changed line', function()
    return not next(marks(bufnr))
  end)
  vim.api.nvim_set_current_line(text)
  vim.cmd('doautocmd <nomodeline> TextChanged')
  await('the instructions again', function()
    return has(bufnr, 'OptimasInStep', load)
  end)

  -- Without its report nothing stale is shown; with it, everything is there again.
  assert(vim.loop.fs_rename(env.OPTIMAS_REPORT, env.OPTIMAS_ASIDE))
  await('a sentence instead of the code', function()
    return lines(bufnr)[1]:find('cannot be shown now')
  end)
  seen.gone = { text = lines(bufnr), marks = marks(bufnr) }
  assert(vim.loop.fs_rename(env.OPTIMAS_ASIDE, env.OPTIMAS_REPORT))
  await('the code again', function()
    return #lines(bufnr) > 10 and has(bufnr, 'OptimasInStep', load)
  end)

  vim.api.nvim_set_current_win(window(bufnr))
  vim.fn.search(use .. '  ')
  moved()
  seen.before_closing = next(marks(source)) ~= nil
  vim.cmd('close')
  await('no marks', function()
    return not vim.api.nvim_buf_is_valid(bufnr) and not next(marks(source))
  end)
  vim.cmd('Optimas sass no_such_kernel')
  await('a sentence about a kernel that is not there', function()
    return vim.tbl_contains(seen.said, "Optimas: no kernel with 'no_such_kernel' in its name was profiled")
  end)
  return seen
end

local worked, problem = xpcall(run, debug.traceback)
seen.problem = not worked and tostring(problem) or nil
local encode = vim.json and vim.json.encode or vim.fn.json_encode
vim.fn.writefile({ encode(seen) }, env.OPTIMAS_OUT)
vim.cmd(worked and 'qa!' or 'cq!')
