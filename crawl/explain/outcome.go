package explain

import (
	"fmt"
	"time"

	"freshet/store"
)

// fetch adds the outcome of the last request.
func (x *explainer) fetch(row Page, validators store.Validators) {
	if !row.Visited {
		if row.Queue == store.NoQueue {
			return
		}
		x.say("fetch", Waits, "never-fetched", "it was not asked for yet")
		return
	}
	detail := fmt.Sprintf("asked for %s: %s", date(row.LastFetched), answer(row.Outcome, row.Status, row.Reason))
	if !validators.Trusted(x.now.UnixNano()) {
		detail += fmt.Sprintf("; until %s its site is asked without ETag and Last-Modified, which were wrong %d times",
			date(validators.Until), validators.Lies)
	}
	reason := ""
	switch row.Outcome {
	case store.OutcomeStored:
		switch {
		case row.Truncated != "":
			reason = "truncated-" + row.Truncated
		case row.SoftError:
			reason = "soft-error"
		}
	case store.OutcomeNotModified:
	case store.OutcomeRedirected:
		reason, detail = "redirect", detail+" to "+row.Redirect.String()
	case store.OutcomeDenied:
		if row.Reason != store.ReasonType {
			return // the address gate has it
		}
		reason = store.ReasonType
	case store.OutcomeCrash:
		reason = store.OutcomeCrash.String()
	case store.OutcomeFailed:
		if reason = row.Failure; reason == "" { // a status that is not a final answer, such as 101
			reason = fmt.Sprint(row.Status)
		}
	default:
		if reason = fmt.Sprint(row.Status); row.Status == 0 { // no answer: it was purged
			reason = row.Reason
		}
	}
	verdict := Passed
	switch {
	case reason != "" && row.Queue == store.NoQueue:
		verdict = Stopped
	case reason != "":
		verdict = Waits
	}
	x.say("fetch", verdict, reason, detail)
}

// retries adds how often the page failed.
func (x *explainer) retries(row Page) {
	if row.FailedInRow == 0 {
		return
	}
	detail := "failed once"
	if row.FailedInRow > 1 {
		detail = fmt.Sprintf("failed %d times in a row", row.FailedInRow)
	}
	if row.Queue != store.NoQueue && int(row.FailedInRow) > x.Retries {
		x.say("retries", Passed, "", detail+"; tried again after a day, then each time after twice as long, up to 32 days")
		return
	}
	detail += fmt.Sprintf("; given up after %d in a row", 1+max(0, x.Retries))
	if row.Queue == store.NoQueue {
		x.say("retries", Stopped, "exhausted", detail)
		return
	}
	x.say("retries", Passed, "", detail)
}

// answer returns the answer in words.
func answer(outcome store.Outcome, status int, reason string) string {
	text := outcome.String()
	if status != 0 {
		text += fmt.Sprintf(" %d", status)
	}
	if reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

func date(ns int64) string { return inWords(time.Unix(0, ns)) }

// inWords returns a time in the form of the sentence and the details of an Explanation.
func inWords(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
