package change

// Static is the Curve of a page that never changes, and so is never stale.
type Static struct{}

// Staleness returns 0.
func (Static) Staleness(int) float64 { return 0 }

// Gain returns 0.
func (Static) Gain(int) float64 { return 0 }

// Crawls returns 0: no crawl gains anything.
func (Static) Crawls(float64) float64 { return 0 }

// Times appends x zeros.
func (Static) Times(dst []float64, x int) []float64 { return append(dst, make([]float64, x)...) }
