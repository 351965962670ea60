package console

// Doors are the methods and paths outside of tenants, and whether a person has to be signed in.
func Doors() (list []struct {
	Method, Path string
	In           bool
}) {
	for _, d := range doors() {
		list = append(list, struct {
			Method, Path string
			In           bool
		}{d.method, d.path, d.in})
	}
	return list
}

// Addresses are the methods and paths of a tenant's pages, with the least role of each.
func Addresses() [][3]string {
	var list [][3]string
	for _, r := range routes() {
		list = append(list, [3]string{r.method, r.path, string(least[r.method+" "+r.path])})
	}
	return list
}
