package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"governor/workqueue"
)

// A worker's loop: success forgets, failure adds again.
func Example() {
	q := workqueue.New(&workqueue.Options[string]{Name: "greetings"})
	q.Add("hello")
	q.AddWith(workqueue.AddOptions{Priority: 10}, "fire")

	attempts := map[string]int{}
	work := func(key string) error {
		attempts[key]++
		if key == "hello" && attempts[key] == 1 {
			return errors.New("nobody listens")
		}
		return nil
	}
	for {
		item, err := q.Get(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := work(item.Key); err != nil {
			fmt.Printf("%s: %v\n", item.Key, err)
			q.AddWith(workqueue.AddOptions{RateLimited: true, Priority: item.Priority}, item.Key)
		} else {
			fmt.Printf("%s: done\n", item.Key)
			q.Forget(item.Key)
		}
		q.Done(item.Key)
		if attempts["hello"] == 2 {
			q.ShutDown()
		}
	}
	// Output:
	// fire: done
	// hello: nobody listens
	// hello: done
	// workqueue is shut down
}

// An item that is added twice comes out once.
func ExampleQueue_Add() {
	q := workqueue.New[string](nil)
	q.Add("a")
	q.Add("b")
	q.Add("a")
	q.ShutDown()
	for {
		item, err := q.Get(context.Background())
		if err != nil {
			break
		}
		fmt.Println(item.Key)
		q.Done(item.Key)
	}
	// Output:
	// a
	// b
}

// Without Done an item does not come again, however often it is added.
func ExampleQueue_Done() {
	q := workqueue.New[string](nil)
	q.Add("a")
	item, _ := q.Get(context.Background())
	q.Add("a")
	q.Add("a")

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	_, err := q.Get(ctx)
	fmt.Println("while a worker has it:", err)

	q.Done(item.Key)
	item, _ = q.Get(context.Background())
	fmt.Println("after Done:", item.Key)
	// Output:
	// while a worker has it: context deadline exceeded
	// after Done: a
}

// Of two delays the earlier counts.
func ExampleQueue_AddAfter() {
	q := workqueue.New[string](nil)
	q.AddAfter("a", time.Hour)
	q.AddAfter("a", 10*time.Millisecond)
	q.AddAfter("a", time.Minute)
	start := time.Now()
	item, _ := q.Get(context.Background())
	fmt.Println(item.Key, time.Since(start) < time.Minute)
	// Output:
	// a true
}

// A bucket of three, refilled once a second, lets three through and then one a
// second.
func ExampleNewBucketRateLimiter() {
	bucket := workqueue.NewBucketRateLimiter[string](1, 3)
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		fmt.Println(key, "waits", bucket.When(key).Round(time.Second/2))
	}
	// Output:
	// a waits 0s
	// b waits 0s
	// c waits 0s
	// d waits 1s
	// e waits 2s
	// f waits 3s
}

// Who has little does not wait for who has much.
func ExampleOptions_fairness() {
	q := workqueue.New(&workqueue.Options[string]{
		FairnessKey: func(key string) string { namespace, _, _ := strings.Cut(key, "/"); return namespace },
	})
	for _, key := range []string{"big/1", "big/2", "big/3", "big/4", "small/1"} {
		q.Add(key)
	}
	for q.Len() > 0 {
		item, _ := q.Get(context.Background())
		fmt.Println(item.Key)
		q.Done(item.Key)
	}
	// Output:
	// big/1
	// small/1
	// big/2
	// big/3
	// big/4
}

// What is less urgent gets one turn of eight when it has waited long enough.
func ExampleOptions_ageing() {
	q := workqueue.New(&workqueue.Options[string]{Ageing: time.Millisecond})
	q.AddWith(workqueue.AddOptions{Priority: -100}, "from the initial list")
	time.Sleep(5 * time.Millisecond)
	for gets := 1; ; gets++ {
		q.Add("from a live event")
		item, _ := q.Get(context.Background())
		q.Done(item.Key)
		if item.Priority == -100 {
			fmt.Println(item.Key, "with Get", gets)
			return
		}
	}
	// Output:
	// from the initial list with Get 8
}

// A key that is added twice comes out once, and with both causes.
func ExampleCauses() {
	q := workqueue.New[string](nil)
	q.AddWith(workqueue.AddOptions{Cause: "ConfigMap app/settings was updated"}, "app/web")
	q.AddWith(workqueue.AddOptions{Cause: "Deployment app/web was updated"}, "app/web")
	item, _ := q.Get(context.Background())
	for _, cause := range item.Causes.Latest() {
		fmt.Println(item.Key, "because", cause)
	}
	// Output:
	// app/web because ConfigMap app/settings was updated
	// app/web because Deployment app/web was updated
}

// A key that fails waits twice as long each time, until it is forgotten.
func ExampleDefaultControllerRateLimiter() {
	limiter := workqueue.DefaultControllerRateLimiter[string]()
	for range 4 {
		fmt.Println(limiter.When("a"))
	}
	limiter.Forget("a")
	fmt.Println("forgotten:", limiter.When("a"))
	// Output:
	// 5ms
	// 10ms
	// 20ms
	// 40ms
	// forgotten: 5ms
}
