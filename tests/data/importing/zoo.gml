graph [
  node [ id 0 label "Budapest" Longitude 19.04 Latitude 47.5 ]
  node [ id 1 label "Wien" Longitude 16.37 Latitude 48.2 ]
  node [ id 2 label "Wien" ]
  edge [ source 0 target 1 LinkSpeedRaw 10000000000.0 ]
  edge [ source 1 target 0 delay 3 ]
  edge [ source 1 target 2 ]
]
