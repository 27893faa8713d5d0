-- Run by test_neovim_module.py: nvim --headless --clean -u NONE -l neovim_module.lua FILE PYTHON OUT
-- (0.7: nvim --headless --clean -u NONE -S). Uses the module on a real file and writes what it saw as JSON.
local module, file, python, out = vim.env.OPTIMAS_MODULE, vim.env.OPTIMAS_FILE, vim.env.OPTIMAS_PYTHON, vim.env.OPTIMAS_OUT

local function run()
  vim.cmd('filetype on')
  vim.opt.runtimepath:append(module)
  local optimas = require('optimas')
  optimas.setup({ cmd = { python, '-m', 'optimas_lsp' } })
  vim.cmd('edit ' .. vim.fn.fnameescape(file))
  if vim.bo.filetype == '' then
    vim.bo.filetype = 'cuda'
  end
  local bufnr = vim.api.nvim_get_current_buf()
  local function signs()
    return vim.fn.sign_getplaced(bufnr, { group = 'optimas_heat' })[1].signs
  end
  local seen = { version = tostring(vim.version().minor) .. '.' .. tostring(vim.version().patch), filetype = vim.bo.filetype }
  assert(vim.wait(120000, function()
    return #vim.diagnostic.get(bufnr) > 0 and #signs() > 0
  end, 20), 'no diagnostics or no heat within 120 s: ' .. vim.fn.execute('messages'))
  seen.diagnostics = #vim.diagnostic.get(bufnr)
  seen.signs = signs()

  vim.cmd('OptimasHotspots')
  assert(vim.wait(60000, function()
    return #vim.fn.getqflist() > 0
  end, 20), 'the quickfix list stayed empty')
  seen.quickfix = vim.tbl_map(function(item)
    return { file = vim.api.nvim_buf_get_name(item.bufnr), line = item.lnum, type = item.type, text = item.text }
  end, vim.fn.getqflist())
  seen.title = vim.fn.getqflist({ title = 1 }).title
  seen.window = vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(0))

  vim.cmd('OptimasHeat')
  seen.off = #signs()
  vim.cmd('OptimasHeat')
  seen.on = #signs()

  -- Signs move along with the text, and asking again agrees with that.
  vim.api.nvim_buf_set_lines(bufnr, 0, 0, false, { '// one more line' })
  optimas.refresh()
  local first = seen.signs[1].lnum
  assert(vim.wait(60000, function()
    return #signs() == seen.on and signs()[1].lnum == first + 1
  end, 20), 'heat did not follow the text')
  seen.moved = signs()[1].lnum
  seen.lenses = vim.lsp.codelens and #vim.lsp.codelens.get(bufnr) or 0
  if vim.lsp.inlay_hint then
    vim.wait(60000, function()
      return #vim.lsp.inlay_hint.get({ bufnr = bufnr }) > 0
    end, 20)
    seen.hints = #vim.lsp.inlay_hint.get({ bufnr = bufnr })
  end
  return seen
end

local worked, result = xpcall(run, debug.traceback)
local encode = vim.json and vim.json.encode or vim.fn.json_encode
vim.fn.writefile({ encode(worked and result or { problem = tostring(result) }) }, out)
vim.cmd(worked and 'qa!' or 'cq')
