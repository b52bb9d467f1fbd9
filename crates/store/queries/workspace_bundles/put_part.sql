-- Nothing is written for a run that has ended.
INSERT INTO workspace_bundle_parts (run, number, sealed_content)
SELECT bundle.run, $2, $3 FROM workspace_bundles AS bundle WHERE bundle.run = $1 FOR KEY SHARE
ON CONFLICT (run, number) DO UPDATE SET sealed_content = excluded.sealed_content
