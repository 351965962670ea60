SELECT id, name AS template_name, body AS template_content, (active <> 0) AS is_active,
  {{time "created_at"}} AS created_at, {{time "updated_at"}} AS updated_at, tenant
FROM posthouse_sms_texts
