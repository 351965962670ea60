SELECT s.id AS id, CASE WHEN c.template = '' THEN c.name ELSE c.template END AS task_name, c.id AS task_main_id, s.first_seq AS task_snum, s.last_seq AS task_enum,
  s.status AS task_status, CASE WHEN s.finished_at = 0 THEN NULL ELSE {{time "s.finished_at"}} END AS task_finishtime,
  CASE WHEN s.created_at = 0 THEN NULL ELSE {{time "s.created_at"}} END AS add_time,
  CASE WHEN c.deadline = 0 THEN NULL ELSE {{time "c.deadline"}} END AS deadline,
  CASE WHEN s.lease_until = 0 THEN NULL ELSE {{time "s.lease_until"}} END AS overtime,
  c.kind AS task_type, s.tenant AS tenant
FROM posthouse_segments s JOIN posthouse_campaigns c ON c.id = s.campaign
