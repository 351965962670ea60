// Leads what providers' programs call to the server of a test: each TLS connection goes to PORT on loopback, and keeps the name that it
// was meant for, in its handshake and in its requests. It is loaded before them, by node -r.
const tls = require('tls');
const port = Number(process.env.PORT);
const connect = tls.connect;
tls.connect = function (...args) {
  const back = args.find((a) => typeof a === 'function');
  let given = args.find((a) => a && typeof a === 'object') || {};
  const name = given.servername || given.host || (typeof args[1] === 'string' ? args[1] : undefined);
  if (name === '127.0.0.1' || name === 'localhost') return connect.apply(tls, args);
  given = { ...given, host: '127.0.0.1', port, servername: name };
  delete given.socket;
  delete given.path;
  delete given.lookup;
  return connect.call(tls, given, back);
};

// Some call without TLS: they are led to PLAIN.
const net = require('net');
const plain = net.createConnection;
net.createConnection = net.connect = function (...args) {
  const given = args[0];
  if (given && typeof given === 'object' && Number(given.port) === 80 && given.host !== '127.0.0.1') {
    args[0] = { ...given, host: '127.0.0.1', port: Number(process.env.PLAIN) };
    delete args[0].lookup;
  }
  return plain.apply(net, args);
};
