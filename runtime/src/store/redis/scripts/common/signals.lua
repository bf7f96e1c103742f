  -- Signals. Built only when there are any.

  local signal
  function s.signal()
    if signal then return signal end
    local x = {}
    signal = x

    function x.put(number, text)
      if s.signals == 0 then
        -- What somebody left who removed the first key alone: it is over.
        if call('ZCARD', SIGNALS) > 0 then call('DEL', SIGNALS) end
        s.expires = 0
      end
      call('ZADD', SIGNALS, int(number), int(number) .. ' ' .. text)
      s.signals = s.signals + 1
    end

    function x.add(count, text)
      for _ = 1, count do
        s.last = s.last + 1
        x.put(s.last, text)
      end
    end

    -- The number and the text of the first one.
    function x.first()
      local number, text = match(call('ZRANGE', SIGNALS, 0, 0)[1] or '', '^(%d+) (.*)$')
      if not number then foreign('a signal is unreadable') end
      return tonumber(number), text
    end

    function x.take(number, text)
      call('ZREM', SIGNALS, int(number) .. ' ' .. text)
      s.signals = s.signals - 1
    end

    -- Says whether there was anything to forget.
    function x.delete()
      local existed = s.known == 1 or s.signals > 0
      if s.signals > 0 then call('DEL', SIGNALS) end
      s.known, s.signals, s.last = 0, 0, 0
      return existed
    end

    return x
  end
