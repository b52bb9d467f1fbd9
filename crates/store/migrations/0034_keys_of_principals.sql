-- Finds whether the key of a service is revoked.
CREATE INDEX service_keys_of_principal ON service_keys (principal);
