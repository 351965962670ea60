-- config_json has only what the document asks of DingTalk's gateway. Everything else in a configuration may be, or
-- may hold, a secret.
SELECT h.name AS id, CASE h.name WHEN 'oa' THEN 0 WHEN 'dingtalk' THEN 1 END AS channel,
  CASE WHEN h.driver = 'dingtalk' THEN json_object('baseUrl', json_extract(h.config, '$.baseUrl'), 'agentId', json_extract(h.config, '$.agentId'), 'corpId', json_extract(h.config, '$.corpId')) ELSE '{}' END AS config_json,
  1 - h.paused AS enabled, 0 AS del_flag, NULL AS create_by, strftime('%Y-%m-%d %H:%M:%f', h.created_at / 1000000.0, 'unixepoch') AS create_time,
  NULL AS update_by, strftime('%Y-%m-%d %H:%M:%f', h.updated_at / 1000000.0, 'unixepoch') AS update_time, h.tenant AS tenant
FROM posthouse_channels h WHERE h.name IN ('oa', 'dingtalk')
