SELECT id, name AS template_name, body AS template_content, (active <> 0) AS is_active,
  TIMESTAMPADD(MICROSECOND, created_at, TIMESTAMP '1970-01-01 00:00:00') AS created_at, TIMESTAMPADD(MICROSECOND, updated_at, TIMESTAMP '1970-01-01 00:00:00') AS updated_at, tenant
FROM posthouse_sms_texts
