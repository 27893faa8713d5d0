-- Asks for a rewrite through the Lua module and deals with it, and writes down, as JSON, what a person would see.
-- Run by test_optimize.py with the environment it sets; works in Neovim 0.7 and later.
local env = vim.env
local seen = { said = {}, progress = {}, asked = {} }

local function await(what, predicate)
  if not vim.wait(tonumber(env.OPTIMAS_TEST_PATIENCE_MS or 100000), predicate, 20) then
    error('waited in vain for ' .. what .. '\n' .. table.concat(seen.said, '\n'))
  end
end

vim.notify = function(words)
  table.insert(seen.said, words)
end
vim.ui.select = function(items, options, with)
  table.insert(seen.asked, options.prompt)
  with(items[1], 1)
end

local function text()
  return table.concat(vim.api.nvim_buf_get_lines(seen.bufnr, 0, -1, false), '\n') .. '\n'
end

local function said(pattern)
  for _, words in ipairs(seen.said) do
    if words:find(pattern) then
      return words
    end
  end
end

local function run()
  vim.cmd('filetype on')
  vim.opt.runtimepath:append(env.OPTIMAS_MODULE)
  local optimas, jobs = require('optimas'), require('optimas.jobs')
  vim.api.nvim_create_autocmd('User', {
    pattern = 'OptimasJobs',
    callback = function()
      local words = optimas.status()
      if words ~= '' and seen.progress[#seen.progress] ~= words then
        table.insert(seen.progress, words)
      end
    end,
  })
  optimas.setup({ cmd = { env.OPTIMAS_PYTHON, '-m', 'optimas_lsp' } })
  vim.cmd('edit ' .. vim.fn.fnameescape(env.OPTIMAS_FILE))
  if vim.bo.filetype == '' then
    vim.bo.filetype = 'cuda'
  end
  seen.bufnr = vim.api.nvim_get_current_buf()
  local original = text()
  await('findings', function()
    return #vim.diagnostic.get(seen.bufnr) > 0
  end)
  local function to_kernel()
    vim.fn.search('^__global__ void adjacent_kernel', 'cw')
  end
  local function state()
    return jobs.list[1] and (jobs.list[1].state .. ' ' .. jobs.list[1].offer) or 'none'
  end

  to_kernel()
  vim.cmd('Optimas optimise')
  if env.OPTIMAS_HELD == '1' then
    await('the build', function()
      return jobs.list[1] and jobs.list[1].stage == 'compile'
    end)
    vim.cmd('Optimas cancel')
    await('the end', function()
      return state() == 'cancelled none'
    end)
    seen.text, seen.original = text(), original
    return
  end
  await('an outcome', function()
    return state() == 'done ready'
  end)
  await('words about it', function()
    return said('proven')
  end)
  seen.offer = said('proven')

  vim.cmd('Optimas outcome')
  await('the outcome', function()
    return vim.api.nvim_buf_get_name(0):find('optimas://outcome')
  end)
  seen.outcome = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  vim.cmd('close')

  vim.cmd('Optimas preview')
  await('the preview', function()
    return vim.api.nvim_buf_get_name(0):find('optimas://rewrite')
  end)
  seen.previewed = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n') .. '\n'
  seen.diff = vim.wo.diff
  seen.untouched = text() == original
  vim.cmd('tabclose')

  -- Lines that are added above while the rewrite waits move it along.
  vim.api.nvim_buf_set_lines(seen.bufnr, 0, 0, false, { '// one', '// two' })
  vim.cmd('Optimas apply')
  await('the rewrite', function()
    return state() == 'done applied'
  end)
  seen.applied = text()
  await('words about it', function()
    return vim.fn.execute('messages'):find('is rewritten')
  end)
  vim.cmd('silent undo')
  vim.cmd('silent undo')
  await('the offer again', function()
    return state() == 'done ready'
  end)
  seen.undone = text() == original

  -- An edit inside makes it stale, and nothing can be applied until the text is as before.
  to_kernel()
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local line = vim.api.nvim_buf_get_lines(seen.bufnr, row - 1, row, false)[1]
  vim.api.nvim_buf_set_lines(seen.bufnr, row - 1, row, false, { line .. ' // edited' })
  await('staleness', function()
    return state() == 'stale stale'
  end)
  vim.cmd('Optimas apply')
  await('a refusal', function()
    return said('there is no rewrite that can be applied')
  end)
  seen.refused = text():gsub(' // edited', '') == original
  vim.cmd('Optimas jobs')
  seen.list = vim.fn.getqflist()[1].text
  return seen
end

local worked, problem = xpcall(run, debug.traceback)
seen.problem = not worked and tostring(problem) or nil
local encode = vim.json and vim.json.encode or vim.fn.json_encode
vim.fn.writefile({ encode(seen) }, env.OPTIMAS_OUT)
vim.cmd(worked and 'qa!' or 'cq!')
