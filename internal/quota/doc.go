// Package quota bounds what keys and tenants ask for: requests in windows, and deliveries that are open.
//
//	quota    whose quotas there are, as the database says
//	request  lets a request pass, or says which window is full
//	reserve  makes room for deliveries before they are stored, or says that there is none
//	measure  what Prometheus sees
//
// A key or tenant without a quota costs the look into a map. A quota of open deliveries is judged by a count that this process keeps:
// it adds what it accepts itself, and asks the database now and then, never for each request. What other processes accept
// and what is settled is seen with the next count, so a quota can be exceeded by what other processes accept within
// countEvery. It sends and stores nothing.
package quota
