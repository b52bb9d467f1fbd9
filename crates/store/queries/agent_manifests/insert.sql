INSERT INTO agent_manifests (agent, version, canonical, hash, contract, consent, created_by)
VALUES ($1, $2, $3, $4, $5, $6, $7)
