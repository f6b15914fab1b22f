"""Where rows come from: folders of files and sockets today, brokers and sensors later, all behind `base.RowSource`."""
