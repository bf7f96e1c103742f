    end
    reply = type(state) == 'table' and failure(state) or rest()
  end
  if not all then return reply end
  all[key] = reply
  base = base + count
end
return all
