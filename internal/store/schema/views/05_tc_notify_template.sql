-- The template that a kind has on a channel: its own, or else the kind's for all channels.
SELECT t.name AS id, b.biz_type AS biz_type, c.channel AS channel, t.title AS title_tpl, t.body AS content_tpl,
  NULLIF(t.external_id, '') AS external_tpl_id, 1 - t.disabled AS enabled, 0 AS del_flag, NULL AS create_by,
  {{time "t.created_at"}} AS create_time, NULL AS update_by, {{time "t.created_at"}} AS update_time, t.tenant AS tenant
FROM posthouse_templates t
CROSS JOIN (SELECT 0 AS biz_type, 'task_created' AS kind UNION ALL SELECT 1, 'node_done' UNION ALL SELECT 2, 'orbit_remind' UNION ALL SELECT 3, 'task_finished' UNION ALL SELECT 4, 'task_abnormal' UNION ALL SELECT 5, 'node_timeout') b
CROSS JOIN (SELECT 0 AS channel, 'oa' AS name UNION ALL SELECT 1, 'dingtalk') c
WHERE t.version = (SELECT MAX(l.version) FROM posthouse_templates l WHERE l.tenant = t.tenant AND l.name = t.name)
  AND (t.name = {{cat "b.kind" "'.'" "c.name"}} OR (t.name = b.kind AND NOT EXISTS (SELECT 1 FROM posthouse_templates o WHERE o.tenant = t.tenant AND o.name = {{cat "b.kind" "'.'" "c.name"}})))
