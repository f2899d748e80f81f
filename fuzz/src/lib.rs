//! The bodies of the fuzz targets, so that stable tests can replay their corpora.
