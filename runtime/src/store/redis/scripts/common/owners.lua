  -- Owners: their holders share a hold. Built only when somebody has one.

  local owners
  function s.owners()
    if owners then return owners end
    local x = {}
    owners = x
    local of = {} -- owner -> its holders: ticket -> record

    local function put(ticket, r)
      if r.owner == '' then return end
      of[r.owner] = of[r.owner] or {}
      of[r.owner][ticket] = r
    end

    if s.owned > 0 then
      if s.one then
        put(s.one, need(s.one))
      else
        for _, ticket in ipairs(s.rare().need_all(call('ZRANGE', HELD, 0, -1))) do put(ticket, need(ticket)) end
      end
    end

    -- What a holder takes of the capacity, if no other of its owner does.
    local function weight(r)
      return r.number > 0 and 0 or r.units
    end

    -- The units of all holders of an owner; and, of those that are not parked, the units and the highest token, or
    -- nothing if there are none.
    function x.share(owner)
      local all, units, token = 0, nil, nil
      for _, r in pairs(of[owner] or {}) do
        all = max(all, weight(r))
        if r.flag ~= 2 then units, token = max(units or 0, weight(r)), max(token or 0, r.token) end
      end
      return all, units, token
    end

    -- A holder more or less: says how many units more or less are used.
    function x.add(ticket, r)
      local before = x.share(r.owner)
      put(ticket, r)
      s.owned = s.owned + 1
      return max(0, weight(r) - before)
    end

    function x.remove(ticket, r)
      of[r.owner][ticket] = nil
      s.owned = max(0, s.owned - 1)
      return max(0, weight(r) - x.share(r.owner))
    end

    return x
  end
