package retain

import "freshet/store"

// directory is the open data directory that is worked on.
type directory struct{ store.Inside }
