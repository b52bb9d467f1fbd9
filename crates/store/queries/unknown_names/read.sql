SELECT slot FROM unknown_names WHERE slot = $1
