package workload

// Round is what happens to some of a run's objects: each changes once.
type Round struct {
	Name string
	// Rate is how many a second; zero is all at once.
	Rate int
	// Events is how many there are, if so many objects change in a burst; zero is
	// as many as do.
	Events int
}

// The rounds in which changes come one after the other.
const Paced, Busy = "paced", "busy"

// Rounds are those of a run, in this order.
var Rounds = []Round{
	{Name: "status"},
	{Name: "metadata"},
	{Name: "all"},
	{Name: Paced, Rate: 500, Events: 1000},
	{Name: Busy, Rate: 5000, Events: 5000},
}

// RoundVersions is how many resourceVersions each round has. The initial list's
// begin there, those of the first round at twice of it, and so on.
const RoundVersions = 10_000_000

// Made is the server's answer to a request for a round.
type Made struct {
	Events int
	Paced  []Sent `json:",omitempty"` // of a round with a rate
}

// Sent is one event of a round with a rate: whose, and when it was sent.
type Sent struct {
	Ordinal int
	Sent    int64 // ns since 1970
}
