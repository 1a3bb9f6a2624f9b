package weburl

// Description is what Freshet makes of a URL. Its JSON has either Error or the fields before it.
type Description struct {
	Input       string     `json:"input"`
	Canonical   string     `json:"canonical,omitzero"`
	Fingerprint string     `json:"fingerprint,omitzero"`
	Site        Site       `json:"site,omitzero"`
	SURT        string     `json:"surt,omitzero"`
	Partition   *Partition `json:"partition,omitempty"`
	Error       string     `json:"error,omitzero"`
}

// Describe returns what Freshet makes of raw in a data directory with that many partitions. raw is resolved against
// base unless base is zero. It panics like PartitionOf.
func Describe(raw string, base URL, partitions int) Description {
	u, err := base.Parse(raw)
	if err != nil {
		return Description{Input: raw, Error: err.Error()}
	}
	partition := u.Partition(partitions)
	return Description{
		Input:       raw,
		Canonical:   u.String(),
		Fingerprint: u.Fingerprint().String(),
		Site:        u.Site(),
		SURT:        u.SURT(),
		Partition:   &partition,
	}
}
