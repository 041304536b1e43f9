package governor
