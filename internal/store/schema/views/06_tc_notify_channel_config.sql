-- config_json has only what the document asks of DingTalk's gateway. Everything else in a configuration may be, or
-- may hold, a secret.
SELECT h.name AS id, CASE h.name WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN h.driver = 'dingtalk' THEN {{object "baseUrl" (json "h.config" "baseUrl") "agentId" (json "h.config" "agentId") "corpId" (json "h.config" "corpId")}} ELSE {{document "'{}'"}} END AS config_json,
  1 - h.paused AS enabled, 0 AS del_flag, NULL AS create_by, {{time "h.created_at"}} AS create_time,
  NULL AS update_by, {{time "h.updated_at"}} AS update_time, h.tenant AS tenant
FROM posthouse_channels h WHERE h.name IN ('oa', 'dingtalk')
