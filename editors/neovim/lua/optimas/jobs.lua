--- Rewrites in Neovim: asked for at the cursor, followed while they run, read in a scratch window, applied and checked.
--- Used through :Optimas (see optimas.lua); answers are those of the server's commands (docs/server.md).
local J = {}

local LIVE = { queued = true, running = true, ['waiting-for-consent'] = true }

---The rewrites as the server last listed them (schema optimas.jobs/1), newest first.
J.list = {}

local running = {}

---Runs a command of the server: execute(name, arguments, with(answer)). Set by optimas.lua.
J.execute = nil

local function value(something)
  if something == vim.NIL then
    return nil
  end
  return something
end

local function say(words, level)
  vim.notify('Optimas: ' .. words, level or vim.log.levels.INFO)
end

function J.live(job)
  return LIVE[job.state] == true
end

---What is known about a rewrite, in one line; nothing is called proven that is not.
function J.claim(job)
  if value(job.proof) ~= 'proven' then
    return 'not proven'
  end
  local gain, words = value(job.speedup), 'proven'
  if gain then
    words = string.format('proven: the %s takes %.2f times less time (95 %% interval %.2f to %.2f)',
      gain.what or 'kernel', gain.value, gain.low, gain.high)
  end
  local recorded = value(job.recorded)
  return recorded and (words .. '; ' .. recorded .. ', not measured now') or words
end

---State and progress of a rewrite in a few words.
function J.words(job)
  if job.elsewhere then
    return job.words
  elseif job.state == 'running' then
    return job.stage == '' and 'starting' or string.format('%s, %d of %d', job.stage, job.step, job.steps)
  elseif job.state == 'queued' then
    return 'waits'
  elseif job.state == 'waiting-for-consent' then
    return 'waits for your answer'
  elseif job.state == 'done' then
    local offers = { ready = 'ready, ' .. J.claim(job), applied = 'applied; profile again', stale = 'edited since: it does not fit' }
    return offers[job.offer] or 'nothing to apply'
  end
  return job.state == 'stale' and 'the kernel was edited since: it does not fit' or job.state
end

---For a status line: what runs and how far it is; empty when nothing does.
function J.status()
  for _, job in ipairs(J.list) do
    if J.live(job) and not job.elsewhere then
      return string.format('%s: %s', job.title, J.words(job))
    end
  end
  return ''
end

---Takes the list as it is now: shows progress in the message line, and says how those ended that ran before.
function J.follow(answer)
  J.list = answer.jobs
  for _, job in ipairs(J.list) do
    local before = running[job.id]
    if J.live(job) and not job.elsewhere then
      local words = J.words(job)
      if before ~= words then
        vim.api.nvim_echo({ { string.format('Optimas: %s: %s', job.title, words) } }, false, {})
      end
      running[job.id] = words
    elseif before then
      running[job.id] = nil
      J.announce(job)
    end
  end
  vim.api.nvim_exec_autocmds('User', { pattern = 'OptimasJobs', modeline = false })
end

function J.announce(job)
  if job.state == 'done' and job.offer == 'ready' then
    say(string.format('%s: %s. :Optimas preview, :Optimas outcome or :Optimas apply', job.title, J.claim(job)))
  elseif job.state == 'stale' then
    say(job.title .. ': the kernel was edited meanwhile, so the result does not fit; it fits again once the text is as before',
      vim.log.levels.WARN)
  elseif job.state == 'failed' or job.state == 'interrupted' then
    say(job.title .. ': ' .. job.sentence, vim.log.levels.WARN)
  else
    say(job.title .. ': ' .. job.sentence)
  end
end

---Calls `with` with the rewrite meant among those that `fits`: the only one, or the user's choice.
local function choose(what, fits, with)
  local found = vim.tbl_filter(fits, J.list)
  if #found == 0 then
    say('there is no rewrite ' .. what)
  elseif #found == 1 then
    with(found[1])
  else
    vim.ui.select(found, {
      prompt = 'Rewrites ' .. what,
      format_item = function(job)
        return string.format('%s: %s (%s)', job.title, J.words(job), job.created)
      end,
    }, function(job)
      if job then
        with(job)
      end
    end)
  end
end

local function over(job)
  return not J.live(job)
end

local function ready(job)
  return job.offer == 'ready'
end

---A window above with text that belongs to no file; the buffer goes when it is closed.
local function scratch(name, lines, filetype)
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].filetype = filetype
  vim.bo[bufnr].modifiable = false
  local old = vim.fn.bufnr(name)
  if old ~= -1 then
    vim.api.nvim_buf_delete(old, { force = true })
  end
  vim.api.nvim_buf_set_name(bufnr, name)
  return bufnr
end

local function lines_of(text)
  local lines = vim.split((text:gsub('\r\n', '\n')), '\n', { plain = true })
  if lines[#lines] == '' then
    table.remove(lines)
  end
  return lines
end

---The buffer of a rewrite's file, loaded.
local function buffer_of(job)
  local bufnr = vim.uri_to_bufnr(job.uri)
  vim.fn.bufload(bufnr)
  return bufnr
end

---Everything about an outcome in a scratch window; the path of its page stands at the end.
function J.outcome()
  choose('that is over', over, function(job)
    J.execute('optimas.outcome', { job.id }, function(answer)
      local lines = lines_of(answer.text)
      if value(answer.html) then
        vim.list_extend(lines, { '', 'The page about it, for a browser: ' .. answer.html })
      end
      local bufnr = scratch('optimas://outcome/' .. job.id, lines, 'markdown')
      vim.cmd('aboveleft split')
      vim.api.nvim_win_set_buf(0, bufnr)
    end)
  end)
end

---The file as it is and as it would be, in diff mode; nothing is changed.
function J.preview()
  choose('that can be applied', ready, function(job)
    J.execute('optimas.outcome', { job.id }, function(answer)
      local edited = value(answer.edited)
      if not edited then
        say(job.title .. ': it does not fit the text as it is now, or its file is not open', vim.log.levels.WARN)
        return
      end
      local source = buffer_of(job)
      local filetype = vim.bo[source].filetype
      local bufnr = scratch('optimas://rewrite/' .. job.id, lines_of(edited), filetype)
      vim.cmd('tabnew')
      vim.api.nvim_win_set_buf(0, source)
      vim.cmd('diffthis')
      vim.cmd('rightbelow vsplit')
      vim.api.nvim_win_set_buf(0, bufnr)
      vim.cmd('diffthis')
    end)
  end)
end

---Applies a rewrite, and believes only the text: the buffer must then be the text that the outcome promised.
function J.apply()
  choose('that can be applied', ready, function(job)
    local bufnr = buffer_of(job)
    J.execute('optimas.outcome', { job.id }, function(outcome)
      local promised = value(outcome.edited)
      if not promised then
        say(job.title .. ': it does not fit the text as it is now, or its file is not open', vim.log.levels.WARN)
        return
      end
      J.execute('optimas.applyOutcome', { job.id }, function(answer)
        local now = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
        if answer.applied and not vim.deep_equal(now, lines_of(promised)) then
          say(job.title .. ': the buffer is not the text that was promised; undo it and look at :Optimas preview',
            vim.log.levels.ERROR)
        end
      end)
    end)
  end)
end

function J.cancel()
  choose('that runs or waits', J.live, function(job)
    J.execute('optimas.cancelJob', { job.id })
  end)
end

---Keeps that a rewrite was not wanted; the server asks why and says what it kept.
function J.refuse()
  choose('that is not wanted', over, function(job)
    J.execute('optimas.refuseOutcome', { job.id })
  end)
end

function J.forget()
  choose('that is over', over, function(job)
    J.execute('optimas.forgetJob', { job.id })
  end)
end

---The list of rewrites in the quickfix window, newest first.
function J.show()
  local items = {}
  for _, job in ipairs(J.list) do
    local line = value(job.line)
    table.insert(items, {
      filename = vim.uri_to_fname(job.uri),
      lnum = line and line + 1 or 1,
      text = string.format('%s: %s', job.title, J.words(job)),
    })
  end
  vim.fn.setqflist({}, ' ', { title = 'Optimas rewrites', items = items })
  vim.cmd('copen')
end

return J
