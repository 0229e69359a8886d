-- Takes one slot of an endpoint, or says how many milliseconds to wait. One script, so nothing comes between.
-- KEYS: leases (sorted set: lease -> expiry in ms), buckets (hash: requests, tokens, at in ms)
-- ARGV: lease, lease_ms, max_in_flight, requests_per_minute, tokens_per_minute, tokens wanted; a rate of 0 is no limit
local lease, lease_ms, in_flight = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local rates = { tonumber(ARGV[4]), tonumber(ARGV[5]) }
local wanted = { 1, math.min(tonumber(ARGV[6]), rates[2]) } -- a request larger than the bucket takes all of it
local names = { 'requests', 'tokens' }

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) >= in_flight then
  return 50
end

local at = tonumber(redis.call('HGET', KEYS[2], 'at') or now)
local left, wait = {}, 0
for i, rate in ipairs(rates) do
  if rate > 0 then
    local had = tonumber(redis.call('HGET', KEYS[2], names[i]) or rate)
    left[i] = math.min(rate, had + math.max(0, now - at) * rate / 60000)
    if left[i] < wanted[i] then
      wait = math.max(wait, math.ceil((wanted[i] - left[i]) * 60000 / rate))
    end
  end
end
if wait > 0 then
  return wait
end

for i, amount in pairs(left) do
  redis.call('HSET', KEYS[2], names[i], tostring(amount - wanted[i]))
end
redis.call('HSET', KEYS[2], 'at', now)
redis.call('PEXPIRE', KEYS[2], 120000)
redis.call('ZADD', KEYS[1], now + lease_ms, lease)
if redis.call('PTTL', KEYS[1]) < lease_ms + 1000 then -- never shortens what a longer lease needs
  redis.call('PEXPIRE', KEYS[1], lease_ms + 1000)
end
return 0
