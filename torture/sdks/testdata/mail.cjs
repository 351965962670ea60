// A mail server of nodemailer's makers: it asks for TLS and a password, knows one mailbox, and prints each mail as a line of JSON.
const fs = require('fs');
const { SMTPServer } = require('smtp-server');
const refuse = (code, text) => Object.assign(new Error(text), { responseCode: code });
const server = new SMTPServer({
  key: fs.readFileSync(process.env.KEY),
  cert: fs.readFileSync(process.env.CERT),
  size: 20480,
  onAuth: (auth, _, done) => (auth.username === 'desk' && auth.password === 'a-password-of-ours' ? done(null, { user: 'desk' }) : done(refuse(535, 'wrong name or password'))),
  onRcptTo: (to, _, done) => done(to.address === 'li.na@example.org' ? null : refuse(550, 'no such mailbox')),
  onData: (stream, session, done) => {
    const parts = [];
    stream.on('data', (part) => parts.push(part));
    stream.on('end', () => {
      if (stream.sizeExceeded) return done(refuse(552, 'too large'));
      console.log(JSON.stringify({ secure: session.secure, user: session.user, mail: Buffer.concat(parts).toString() }));
      return done();
    });
  },
});
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: server.server.address().port })));
