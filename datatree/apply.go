package datatree

type txnScratch struct{}
