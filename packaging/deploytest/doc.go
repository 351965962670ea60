// Package deploytest tries the Helm chart and the compose file: by Helm's own engine and compose's own loader, against the types of Kubernetes, and against the
// program itself, which has to know every setting, flag and path that they name. It is a module of its own, since Helm brings more modules than
// Posthouse has; make try-deploy runs it.
package deploytest
