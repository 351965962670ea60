-- The algorithm of state.go and call.go, for states that live in one hash of Redis each.
--
--   KEYS             the hashes
--   ARGV             take <want>, then for each key: <windows> <max> <per> <step> [<max> <per> <step> ...]
--                    peek 0 and the same
--                    refund <n>, then for each key: <at>
--   answer           { granted, wait, held key, its held window (counted from 1, or 0), time of each key ... }
--
-- Times are µs since 1970 and stay exact in Lua's numbers until the year 2255.
-- Field "latest" is the latest time seen; field "1", "2", ... is a window:
-- "per step sum " and its runs, oldest first, each 16 digits of stamp and 10 of
-- count. The fixed width lets a call read the first and last runs only.

local verb, want = ARGV[1], tonumber(ARGV[2])
local WIDTH, MAXBACK, UNLIMITED = 26, 60e6, 1e9

local function ceil(t, step)
  return math.ceil(t / step) * step
end

-- at reads the run that begins at character i.
local function at(w, i)
  return tonumber(string.sub(w.runs, i, i + 15)), tonumber(string.sub(w.runs, i + 16, i + 25))
end

local function format(stamp, n)
  return string.format('%016.0f%010.0f', stamp, n)
end

local function add(w, t, n)
  local stamp, last = ceil(t, w.step), #w.runs - WIDTH + 1
  w.sum = w.sum + n
  if last > 0 then
    local newest, count = at(w, last)
    if newest >= stamp then
      w.runs = string.sub(w.runs, 1, last - 1) .. format(newest, count + n)
      return
    end
  end
  w.runs = w.runs .. format(stamp, n)
end

local function expire(w, t)
  local i = 1
  while i < #w.runs do
    local stamp, n = at(w, i)
    if stamp + w.per > t then break end
    w.sum = w.sum - n
    i = i + WIDTH
  end
  w.runs = string.sub(w.runs, i)
end

-- free is when fewer than max permits count.
local function free(w, t, max)
  local sum, i = w.sum, 1
  while sum >= max and i < #w.runs do
    local stamp, n = at(w, i)
    sum, t, i = sum - n, stamp + w.per, i + WIDTH
  end
  return t
end

local function refund(w, t, n)
  local stamp = ceil(t, w.step)
  for i = #w.runs - WIDTH + 1, 1, -WIDTH do
    local s, count = at(w, i)
    if s < stamp then return end
    if s == stamp then
      n = math.min(n, count)
      w.sum = w.sum - n
      local rest = count > n and format(s, count - n) or ''
      w.runs = string.sub(w.runs, 1, i - 1) .. rest .. string.sub(w.runs, i + WIDTH)
      return
    end
  end
end

local function load(key)
  local fields, windows, latest = redis.call('HGETALL', key), {}, 0
  for i = 1, #fields, 2 do
    if fields[i] == 'latest' then
      latest = tonumber(fields[i + 1])
    else
      local per, step, sum, from = string.match(fields[i + 1], '^(%d+) (%d+) (%d+) ()')
      windows[tonumber(fields[i])] = {
        per = tonumber(per), step = tonumber(step), sum = tonumber(sum),
        runs = string.sub(fields[i + 1], from),
      }
    end
  end
  return windows, latest
end

-- save writes the windows, and lets Redis drop the key when the last one has passed.
local function save(key, windows, latest, t)
  local fields, idle = { 'latest', string.format('%.0f', latest) }, t
  for i, w in ipairs(windows) do
    fields[#fields + 1] = tostring(i)
    fields[#fields + 1] = string.format('%.0f %.0f %.0f ', w.per, w.step, w.sum) .. w.runs
    if #w.runs > 0 then
      idle = math.max(idle, at(w, #w.runs - WIDTH + 1) + w.per)
    end
  end
  redis.call('DEL', key)
  redis.call('HSET', key, unpack(fields))
  redis.call('PEXPIRE', key, string.format('%.0f', math.ceil((idle - t + MAXBACK) / 1000)))
end

-- source is the runs of the shortest window that reaches back as far as per, or
-- of the longest where none does.
local function source(windows, per)
  local best = { per = 0, runs = '' }
  for _, w in ipairs(windows) do
    local better = w.per >= per and w.per < best.per
    if best.per < per then better = w.per > best.per end
    if better then best = w end
  end
  return best
end

-- rebuilt makes the wanted windows from what the present ones know, each stamp
-- moved back by so many µs.
local function rebuilt(windows, wanted, latest, back)
  local fresh = {}
  for i, l in ipairs(wanted) do
    local from = source(windows, l.per)
    local w = { per = l.per, step = l.step, sum = 0, runs = '' }
    for r = 1, #from.runs, WIDTH do
      local stamp, n = at(from, r)
      add(w, math.min(stamp, latest) - back, n)
    end
    fresh[i] = w
  end
  return fresh
end

local function fits(windows, wanted)
  if #windows ~= #wanted then return false end
  for i, l in ipairs(wanted) do
    if windows[i].per ~= l.per or windows[i].step ~= l.step then return false end
  end
  return true
end

-- advance brings a key's windows to the time that counts for it, and returns both.
local function advance(key, limits, now)
  local windows, latest = load(key)
  local t, back = now, 0
  if latest - t > MAXBACK then
    back = latest - t
  elseif latest > t then
    t = latest
  end
  if back > 0 or not fits(windows, limits) then
    windows = rebuilt(windows, limits, latest, back)
  end
  for _, w in ipairs(windows) do expire(w, t) end
  return windows, t
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1e6 + tonumber(clock[2])

if verb == 'refund' then
  local answer = { want, 0, 0, 0 }
  for k, key in ipairs(KEYS) do
    local windows, latest = load(key)
    local taken = tonumber(ARGV[2 + k])
    if #windows > 0 and taken <= latest then
      for _, w in ipairs(windows) do refund(w, taken, want) end
      save(key, windows, latest, now)
    end
    answer[4 + k] = now
  end
  return answer
end

local asked = verb == 'take' and want or 1
local granted = verb == 'take' and want or UNLIMITED
local bounds, next = {}, 3
for k, key in ipairs(KEYS) do
  local limits = {}
  for i = next + 1, next + 3 * tonumber(ARGV[next]), 3 do
    limits[#limits + 1] = { max = tonumber(ARGV[i]), per = tonumber(ARGV[i + 1]), step = tonumber(ARGV[i + 2]) }
  end
  next = next + 1 + 3 * #limits
  local windows, t = advance(key, limits, now)
  for i, l in ipairs(limits) do
    granted = math.min(granted, l.max - windows[i].sum)
  end
  bounds[k] = { key = key, limits = limits, windows = windows, t = t }
end
granted = math.max(granted, 0)

if verb == 'take' and granted > 0 then
  for _, b in ipairs(bounds) do
    for _, w in ipairs(b.windows) do add(w, b.t, granted) end
    save(b.key, b.windows, b.t, now)
  end
end

local answer = { granted, 0, 0, 0 }
for k, b in ipairs(bounds) do
  answer[4 + k] = b.t
  if granted < asked then
    for i, l in ipairs(b.limits) do
      local d = free(b.windows[i], b.t, l.max) - b.t
      if d > answer[2] then answer[2], answer[3], answer[4] = d, k, i end
    end
  end
end
return answer
