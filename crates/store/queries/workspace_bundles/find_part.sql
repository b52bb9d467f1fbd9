SELECT sealed_content FROM workspace_bundle_parts WHERE run = $1 AND number = $2
