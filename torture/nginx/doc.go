// Package nginx has the test of the configuration that packaging/compose gives nginx: two servers behind it are killed under load. It needs nginx, and
// runs by make try-deploy alone.
package nginx
