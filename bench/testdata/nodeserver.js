// Answers each request with JSON that it makes, parses and sorts, at an address that it prints.
const http = require('http');

const rows = Array.from({ length: 200 }, (_, i) => ({ id: i, name: 'row ' + (i * 7919) % 200, tags: ['a', 'b', String(i)] }));

function byName(a, b) { return a.name < b.name ? -1 : a.name > b.name ? 1 : 0; }

function work() { return JSON.stringify(JSON.parse(JSON.stringify(rows)).sort(byName)); }

const server = http.createServer((request, response) => {
  response.setHeader('Content-Type', 'application/json');
  response.end(work());
});
server.listen(0, '127.0.0.1', () => console.log(`at http://127.0.0.1:${server.address().port}/`));
