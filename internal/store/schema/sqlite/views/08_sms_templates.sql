SELECT id, name AS template_name, body AS template_content, (active <> 0) AS is_active,
  strftime('%Y-%m-%d %H:%M:%f', created_at / 1000000.0, 'unixepoch') AS created_at, strftime('%Y-%m-%d %H:%M:%f', updated_at / 1000000.0, 'unixepoch') AS updated_at, tenant
FROM posthouse_sms_texts
