SELECT {{cat "roster" "':'" "day" "':'" "user_id"}} AS id, {{integer "day"}} AS day_of_week, user_id, tenant
FROM posthouse_roster_entries WHERE roster = 'duty' AND day IN ('1', '2', '3', '4', '5', '6', '7')
