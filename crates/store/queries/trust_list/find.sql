SELECT version FROM trust_list WHERE content_hash = $1
