-- Precedes all other parts. Only this part reads the time, in microseconds of the server's clock.

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
