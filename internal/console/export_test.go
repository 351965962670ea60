package console

// Addresses are the methods and paths of a tenant's pages, with the least role of each.
func Addresses() [][3]string {
	var list [][3]string
	for _, r := range routes() {
		list = append(list, [3]string{r.method, r.path, string(least[r.method+" "+r.path])})
	}
	return list
}
