// Leads the senders whose host is fixed to the server of a test: LEAD is the URL of a front. What they send, and how they read the
// answer, stays theirs. It is loaded before them, by node -r.
const http = require('http');
const https = require('https');
const lead = process.env.LEAD && new URL(process.env.LEAD);
if (lead) {
  const plain = http.request;
  const local = (url) => url.hostname === lead.hostname;
  const request = (...args) => {
    const back = args.find((a) => typeof a === 'function');
    let url = args[0], given = typeof args[1] === 'object' ? args[1] : {};
    if (typeof url === 'string') url = new URL(url);
    const o = url instanceof URL ? { path: url.pathname + url.search, hostname: url.hostname, ...given } : { ...url };
    return plain.call(http, {
      method: o.method, headers: { ...o.headers, host: lead.host }, hostname: lead.hostname, port: lead.port,
      path: local(o) ? o.path : lead.pathname + o.path,
    }, back);
  };
  http.request = https.request = request;
  http.get = https.get = (...args) => { const r = request(...args); r.end(); return r; };
}
