return redis.error_reply('ERR not there yet')
