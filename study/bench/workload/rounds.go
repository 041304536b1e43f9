package workload

// Rounds are what happens to the objects of a run, in this order: in each, many
// of them change once. In "paced" that is one after the other, in the others at
// once.
var Rounds = []string{"status", "metadata", "all", "paced"}

// RoundVersions is how many resourceVersions each round has. The initial list's
// begin there, those of the first round at twice of it, and so on.
const RoundVersions = 10_000_000

// Made is the server's answer to a request for a round.
type Made struct {
	Events int
	Paced  []Paced `json:",omitempty"`
}

// Paced is one event of the round "paced": whose, and when it was sent.
type Paced struct {
	Ordinal int
	Sent    int64 // ns since 1970
}
