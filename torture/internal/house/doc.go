// Package house is what the fault tests share: it builds the command once, starts
// servers and the simulator as processes of their own, sends messages and keeps a
// journal of what each caller was told, waits until everything has settled, has the
// checker judge the run, and prints a row about it.
//
// A test reads like the fault it is about:
//
//	house.EachDatabase(t, func(t *testing.T, db house.Database) {
//		h := house.Open(t, house.Options{DSN: db.DSN(t), Members: 2})
//		h.PutChannel(t, h.Channel("generic"))
//		h.Produce(t, house.Load{Messages: 1000, Each: func(done int) { … h.Members[0].Kill(t) … }})
//		h.Settle(t)
//		report := h.Judge(t, "none")
//		house.Report(t, house.Row{Test: "A1", …})
//	})
//
// It is not a test framework and fakes nothing: processes, databases, HTTP and
// files are real.
package house
