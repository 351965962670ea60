SELECT id, name AS template_name, body AS template_content, (active <> 0) AS is_active,
  to_timestamp(created_at / 1000000.0) AS created_at, to_timestamp(updated_at / 1000000.0) AS updated_at, tenant
FROM posthouse_sms_texts
